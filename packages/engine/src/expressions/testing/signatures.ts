import { TYPE_KINDS, type TypeKind } from "@appdb/contract/types";
import type { Forms } from "../form.ts";

/** A function with the kinds of its arguments and of its result. */
export interface Signature {
  readonly fn: string;
  readonly args: readonly TypeKind[];
  readonly kind: TypeKind;
}

/** Functions with a different value in each call. */
const VOLATILE = new Set(["uuid.uuid4", "uuid.uuid7", "timestamp.now"]);
/** Functions of files, which random rows do not have: apps/runtime, media-routes.contract.test.ts. */
const OF_FILES = new Set(["image.width", "image.height", "image.mode"]);
/** Always the outermost call of an expression: a view's column (views.db.test.ts). */
const OUTERMOST = new Set(["op.when"]);
const BOOLEAN = new Set("eq ne lt le gt ge and or not is_null is_not_null in".split(" "));

/**
 * All signatures of the forms, without volatile functions, and each conversion once per target. `kinds` has the result
 * kinds of the library's functions, by id.
 */
export function signaturesOf(forms: Forms, kinds: ReadonlyMap<string, TypeKind>): Signature[] {
  return Object.entries(forms).flatMap(([fn, byKinds]) =>
    VOLATILE.has(fn) || OF_FILES.has(fn) || OUTERMOST.has(fn)
      ? []
      : Object.keys(byKinds).flatMap((key) => ofKinds(fn, key, kinds, forms)),
  );
}

function ofKinds(fn: string, key: string, kinds: ReadonlyMap<string, TypeKind>, forms: Forms): Signature[] {
  if (fn === "op.in") {
    const equal = TYPE_KINDS.filter((kind) => forms["op.eq"]?.[`${kind},${kind}`] !== undefined);
    return equal.map((kind) => ({ fn, args: [kind, kind, kind], kind: "bool" }));
  }
  const args = key === "*" ? (["string", "string", "int"] as const) : (key.split(",") as TypeKind[]);
  if (fn === "op.cast") return TYPE_KINDS.filter((kind) => kind !== args[0]).map((kind) => ({ fn, args, kind }));
  const kind = fn.startsWith("op.") ? resultOfOperator(fn, args) : kinds.get(fn);
  if (kind === undefined) throw new Error(`There is a form for ${fn}, but no such function.`);
  return [{ fn, args, kind }];
}

function resultOfOperator(fn: string, args: readonly TypeKind[]): TypeKind {
  if (BOOLEAN.has(fn.slice("op.".length))) return "bool";
  if (fn === "op.draw") return "float";
  if (args.includes("string")) return "string";
  return fn === "op.truediv" || args.includes("float") ? "float" : "int";
}
