import type { Expr, PathStep } from "@appdb/contract/expressions";
import { type EngineValue, TYPE_KINDS, type TypeKind } from "@appdb/contract/types";
import type { Forms } from "../form.ts";
import type { Random } from "./random.ts";
import { sampleType, sampleValue } from "./sample-values.ts";

/** A function for certain kinds of arguments and the kind of what it gives. */
export interface Signature {
  readonly fn: string;
  readonly args: readonly TypeKind[];
  readonly kind: TypeKind;
}

export interface TreeOptions {
  readonly random: Random;
  readonly signatures: readonly Signature[];
  /** Names of the columns of each kind. */
  readonly columns: Readonly<Record<TypeKind, readonly string[]>>;
  codePoint(random: Random): number;
}

const FORMAT_ARGS: readonly TypeKind[] = ["string", "int", "bool", "date", "uuid"];
const BOOLEAN = new Set(
  "eq ne lt le gt ge and or not in is_null is_not_null contains startswith endswith isascii".split(" "),
);
const JSON_CONSTANTS = [
  '"a"',
  '"\\u00e9\\n"',
  '""',
  "true",
  "false",
  "0",
  "1",
  "-1",
  "1.5",
  "1e3",
  "1.50",
  "12345678901234",
  "[1]",
];
/** Dict and list literals as if they were functions: they have an SQL form of their own. */
export const COMPOSED: readonly Signature[] = ["node.dict", "node.list"].map((fn) => ({
  fn,
  args: ["string", "int", "bool", "timestamp", "date", "uuid"],
  kind: "json",
}));
const INT = new Set(["string.len", "string.find", "op.floordiv", "op.mod"]);

/** All signatures of the forms; those without a fixed result (`uuid7`) left out, each conversion once per target. */
export function signaturesOf(forms: Forms): Signature[] {
  return Object.entries(forms).flatMap(([fn, byKinds]) =>
    Object.keys(byKinds).flatMap((kinds): Signature[] => {
      if (fn.startsWith("uuid.")) return [];
      if (fn === "op.in") {
        const equal = TYPE_KINDS.filter((kind) => forms["op.eq"]?.[`${kind},${kind}`] !== undefined);
        return equal.map((kind) => ({ fn, args: [kind, kind, kind], kind: "bool" }));
      }
      const args = kinds === "*" ? (["string", "string", "int"] as const) : (kinds.split(",") as TypeKind[]);
      if (fn === "op.cast") return TYPE_KINDS.filter((kind) => kind !== args[0]).map((kind) => ({ fn, args, kind }));
      return [{ fn, args, kind: resultKind(fn, args) }];
    }),
  );
}

/** A call of the signature whose arguments are trees of up to `depth` further calls. */
export function randomCall(signature: Signature, depth: number, options: TreeOptions): Expr {
  const { fn, kind } = signature;
  const kwargs: Record<string, Expr> = {};
  let args = signature.args.map((arg) => randomTree(arg, depth, options));
  const { random } = options;
  const maybe = (name: string, make: () => Expr): void => {
    if (random.next() < 0.5) kwargs[name] = make();
  };
  const smallInt = (from: number, to: number): Expr => literal("int", String(random.int(from, to)));
  if (fn === "node.dict" || fn === "node.list") return randomComposed(fn, args, random);
  // A Json value is compared in SQL with constants alone.
  if (["op.eq", "op.ne", "op.in"].includes(fn) && signature.args[0] === "json") {
    args = args.map((arg, i) => (i === 0 ? arg : literal("json", random.pick(JSON_CONSTANTS))));
  }
  if (fn === "op.in" && random.next() < 0.3) args.splice(1, random.int(0, 2));
  if (fn === "string.format") return randomFormat(depth, options);
  if (["string.repeat", "op.mul"].includes(fn) && kind === "string") {
    args = args.map((arg, i) => (signature.args[i] === "int" ? smallInt(-2, 6) : arg));
  }
  if (["string.ljust", "string.rjust", "string.pad"].includes(fn)) {
    args[1] = smallInt(-1, 9);
    maybe("fillchar", () => literal("string", random.pick([" ", "x", "é", "😀", "'"])));
  }
  if (fn === "string.pad") maybe("side", () => literal("string", random.pick(["left", "right"])));
  if (fn === "string.slice") {
    maybe("start", () => random.pick([smallInt(-4, 4), literal("int", null)]));
    maybe("stop", () => random.pick([smallInt(-4, 4), literal("int", null)]));
    maybe("step", () => random.pick([literal("int", "1"), literal("int", null)]));
  }
  if (["string.strip", "string.lstrip", "string.rstrip"].includes(fn)) {
    maybe("chars", () =>
      random.pick([literal("string", null), literal("string", "aX x"), randomTree("string", 0, options)]),
    );
  }
  if (fn === "string.contains") maybe("case", () => literal("bool", random.next() < 0.5));
  if (fn === "string.replace") maybe("n", () => literal("int", null));
  return { node: "call", fn, args, kwargs, type: sampleType(kind), nullable: true };
}

/** A tree of a kind: a column, a constant, or a call. */
export function randomTree(kind: TypeKind, depth: number, options: TreeOptions): Expr {
  const { random, columns } = options;
  const makers = options.signatures.filter((one) => one.kind === kind);
  if (depth > 0 && makers.length > 0 && random.next() < 0.7) return randomCall(random.pick(makers), depth - 1, options);
  if (kind === "json" && random.next() < 0.6) return randomPath(options);
  if (kind !== "json" && random.next() < 0.25)
    return literal(kind, literalValue(kind, sampleValue(kind, random, options.codePoint)));
  return { node: "column", name: random.pick(columns[kind]), type: sampleType(kind), nullable: true };
}

/** A literal of some of the parts, each made a Json value, with constants and further literals between. */
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

function literal(kind: TypeKind, value: string | number | boolean | null): Expr {
  return { node: "literal", value, type: sampleType(kind), nullable: value === null };
}

/** A stored value as a literal of a tree holds it. */
export function literalValue(kind: TypeKind, value: EngineValue): string | number | boolean | null {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return value !== null && kind === "int" ? String(value) : (value as string | number | boolean | null);
}

function resultKind(fn: string, args: readonly TypeKind[]): TypeKind {
  const name = fn.split(".")[1] ?? "";
  if (BOOLEAN.has(name)) return "bool";
  if (INT.has(fn)) return "int";
  if (fn.startsWith("string.") || args.includes("string")) return "string";
  return fn === "op.truediv" || args.includes("float") ? "float" : "int";
}
