import type { Expr } from "@appdb/contract/expressions";
import { STRING_TYPE } from "../kinds/kinds.ts";
import { comparesOneKind, comparesOrdered, consistsOf } from "./comparisons.ts";
import { compileSql, ROW_COLUMNS } from "./compile-sql.ts";

type Call = Extract<Expr, { node: "call" }>;

/** Functions of strings, whose SQL gives a value for any text and is about as long as the text. */
const STRINGS: ReadonlySet<string> = new Set([
  "op.add",
  "string.upper",
  "string.lower",
  "string.casefold",
  "string.capitalize",
  "string.reverse",
  "string.len",
  "string.isascii",
  "string.isspace",
  "string.strip",
  "string.lstrip",
  "string.rstrip",
  "string.contains",
  "string.startswith",
  "string.endswith",
  "string.removeprefix",
  "string.removesuffix",
  "string.find",
  "string.slice",
]);

/** Whether SQL can compute a condition of any row, wherever it is read: comparisons of columns of one kind and
 *  constants, and samples. */
export function isTotalCondition(condition: Expr): boolean {
  return compileSql(condition, ROW_COLUMNS) !== undefined && consistsOf(condition, comparesOneKind, isSample);
}

/** Whether SQL can compute a value of any row without an error: also functions of strings. */
export function isTotalValue(value: Expr): boolean {
  return compileSql(value, ROW_COLUMNS) !== undefined && consistsOf(value, isTotalCall, isSample);
}

function isTotalCall(call: Call): boolean {
  if (call.fn === "string.format") return true;
  if (STRINGS.has(call.fn)) return call.args.every(({ type }) => type.kind === STRING_TYPE.kind);
  return comparesOrdered(call);
}

/** A sample is drawn by the texts of a key (python/appdb/declare/views.py), which every row has. */
function isSample({ fn }: Call): boolean {
  return fn === "op.draw";
}
