import type { Expr, PathStep } from "@appdb/contract/expressions";
import type { EngineValue, TypeKind } from "@appdb/contract/types";
import type { Random } from "./random.ts";
import { chooseArguments, literal } from "./random-arguments.ts";
import { sampleType, sampleValue } from "./sample-values.ts";
import type { Signature } from "./signatures.ts";

export interface TreeOptions {
  readonly random: Random;
  readonly signatures: readonly Signature[];
  /** Names of the columns of each kind. */
  readonly columns: Readonly<Record<TypeKind, readonly string[]>>;
  codePoint(random: Random): number;
}

const FORMAT_ARGS: readonly TypeKind[] = ["string", "int", "bool", "date", "uuid"];
/** Dict and list literals as pseudo-functions: they have their own SQL form. */
export const COMPOSED: readonly Signature[] = ["node.dict", "node.list"].map((fn) => ({
  fn,
  args: ["string", "int", "bool", "timestamp", "date", "uuid"],
  kind: "json",
}));

/** A call of the signature whose arguments are trees of up to `depth` further calls. */
export function randomCall(signature: Signature, depth: number, options: TreeOptions): Expr {
  const { fn, kind } = signature;
  if (fn === "string.format") return randomFormat(depth, options);
  const args = signature.args.map((arg) => randomTree(arg, depth, options));
  if (fn === "node.dict" || fn === "node.list") return randomComposed(fn, args, options.random);
  const kwargs = chooseArguments(signature, args, options.random, (arg) => randomTree(arg, 0, options));
  return { node: "call", fn, args, kwargs, type: sampleType(kind), nullable: true };
}

/** A tree of a kind: a column, a constant, or a call. */
export function randomTree(kind: TypeKind, depth: number, options: TreeOptions): Expr {
  const { random, columns } = options;
  const makers = options.signatures.filter((signature) => signature.kind === kind);
  if (depth > 0 && makers.length > 0 && random.next() < 0.7) return randomCall(random.pick(makers), depth - 1, options);
  if (kind === "json" && random.next() < 0.6) return randomPath(options);
  if (kind !== "json" && random.next() < 0.25)
    return literal(kind, literalValue(kind, sampleValue(kind, random, options.codePoint)));
  return { node: "column", name: random.pick(columns[kind]), type: sampleType(kind), nullable: true };
}

/** A literal of some of the parts, each made a Json value, with constants and further literals between them. */
function randomComposed(fn: string, args: readonly Expr[], random: Random): Expr {
  const type = { kind: "json" } as const;
  const asJson = (arg: Expr): Expr => ({ node: "call", fn: "op.cast", args: [arg], kwargs: {}, type, nullable: true });
  const constants = [
    literal("json", null),
    literal("json", random.pick(['"é\\"\\\\\\n"', "[1,null]", '{"a":{}}', "-7"])),
  ];
  const parts = [...args.map(asJson), ...constants].filter(() => random.next() < 0.4);
  if (random.next() < 0.4) parts.push(randomComposed(random.pick(["node.dict", "node.list"]), args, random));
  if (fn === "node.list") return { node: "list", items: parts, type, nullable: false };
  const keys = ["a", "it's", 'q"\\', "é\n\u0001\u007f", "", "\u2028", "😀", "b", "c"];
  const entries = parts.map((value, i) => ({ key: keys[i] ?? `k${i}`, value }));
  return { node: "dict", entries, type, nullable: false };
}

function randomPath({ random, columns }: TreeOptions): Expr {
  const step = (): PathStep =>
    random.next() < 0.7
      ? { key: random.pick(["a", "b", "c", "n", "f", "", "a.b", "0"]) }
      : { index: random.int(-3, 3) };
  const steps = Array.from({ length: random.int(1, 3) }, step);
  const type = { kind: "json" } as const;
  const base: Expr = { node: "column", name: random.pick(columns.json), type, nullable: true };
  return { node: "path", base, steps, type, nullable: true };
}

function randomFormat(depth: number, options: TreeOptions): Expr {
  const { random } = options;
  const args = Array.from({ length: random.int(0, 2) }, () => randomTree(random.pick(FORMAT_ARGS), depth, options));
  const kwargs: Record<string, Expr> = random.next() < 0.3 ? { name: randomTree("string", depth, options) } : {};
  const isNumbered = random.next() < 0.3;
  const fields = [
    ...args.map((_, i) => (isNumbered ? `{${i}}` : "{}")),
    ...Object.keys(kwargs).map((key) => `{${key}}`),
  ];
  if (isNumbered) fields.reverse();
  const template = fields.reduce((text, field) => text + field + random.pick(["", " ", "{{", "}}", "'\\", "ß"]), "x");
  const text = literal("string", template);
  return { node: "call", fn: "string.format", args: [text, ...args], kwargs, type: { kind: "string" }, nullable: true };
}

/** A stored value in the form of a literal. */
export function literalValue(kind: TypeKind, value: EngineValue): string | number | boolean | null {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return value !== null && kind === "int" ? String(value) : (value as string | number | boolean | null);
}
