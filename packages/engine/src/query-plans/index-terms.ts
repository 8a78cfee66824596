import type { Expr } from "@appdb/contract/expressions";
import type { BoundQuery } from "../bound-queries/bind-query.ts";
import type { CatalogTable } from "../catalog/catalog.ts";
import { countTexts, indexedPrefix, isText, keyExpression } from "../catalog/ddl.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { ExpressionWriter } from "./relation.ts";

/**
 * Conditions and orders as SQL that an index supports. B-trees hold prefixes of texts, and keys their hashes. So each
 * text comparison is repeated on the indexed form.
 */

/** The indexed form of a text column in the statement's best index: its hash, or a prefix. The number is the count
 *  of texts in the index, which sets the prefix length (`indexedPrefix`). */
export type IndexedText = "hash" | number;

/** By flat name; a text without an entry has no suitable index. */
export type IndexedTexts = ReadonlyMap<string, IndexedText>;

/** The parts of an index for the choice: its columns by flat name, and the indexed forms of texts. */
interface Candidate {
  readonly columns: readonly string[];
  readonly indexed: IndexedText;
}

/** Comparisons that never fail in PostgreSQL, so their order is free. */
const COMPARISONS: ReadonlySet<string> = new Set(["op.eq", "op.lt", "op.le", "op.gt", "op.ge"]);
const MIRRORED: Readonly<Record<string, string>> = {
  "op.eq": "op.eq",
  "op.lt": "op.gt",
  "op.le": "op.ge",
  "op.gt": "op.lt",
  "op.ge": "op.le",
};
/** The condition on two prefixes that follows from a comparison of the texts. */
const OF_PREFIXES: Readonly<Record<string, string>> = {
  "op.eq": "=",
  "op.lt": "<=",
  "op.le": "<=",
  "op.gt": ">=",
  "op.ge": ">=",
};

/** Chooses the indexed form of each text column that a statement compares or sorts by. An index scores by how many
 *  of its first columns are fixed, and whether the next one is bounded or sorted by. */
export function chooseIndexes(bound: BoundQuery, where: readonly Expr[], order: Expr | undefined): IndexedTexts {
  const fixed = new Set<string>();
  const bounded = new Set<string>();
  for (const name of where.flatMap(comparedIn)) (name.isFixed ? fixed : bounded).add(name.column);
  const sorted = order?.node === "column" ? order.name : undefined;
  const scored = bound.tables
    .flatMap(({ alias, table }) => candidatesOf(alias, table))
    .map((candidate) => ({ candidate, used: usedColumns(candidate, fixed, bounded, sorted) }))
    .filter(({ used }) => used.length > 0)
    .sort((a, b) => b.used.length - a.used.length);
  const indexed = new Map<string, IndexedText>();
  for (const { candidate, used } of scored) {
    for (const name of used) if (!indexed.has(name)) indexed.set(name, candidate.indexed);
  }
  return indexed;
}

function candidatesOf(alias: string, table: CatalogTable): readonly Candidate[] {
  const types = new Map(table.columns.map((column) => [column.name, column.type]));
  const flat = (columns: readonly string[]) => columns.map((name) => `${alias}.${name}`);
  const indexes = table.indexes
    .filter(({ state }) => state === "ready")
    .map(({ columns }) => ({ columns: flat(columns), indexed: countTexts(columns, types) }));
  return [{ columns: flat(table.primary_key), indexed: "hash" }, ...indexes];
}

function usedColumns(
  { columns, indexed }: Candidate,
  fixed: ReadonlySet<string>,
  bounded: ReadonlySet<string>,
  sorted: string | undefined,
): readonly string[] {
  const count = columns.findIndex((name) => !fixed.has(name));
  if (count < 0) return columns;
  const next = columns[count] ?? "";
  const isUsed = indexed !== "hash" && (bounded.has(next) || next === sorted);
  return columns.slice(0, isUsed ? count + 1 : count);
}

/** The columns that a condition compares with values known before the read. */
function comparedIn(expr: Expr): readonly { readonly column: string; readonly isFixed: boolean }[] {
  if (expr.node !== "call") return [];
  const [left, right] = expr.args;
  if (expr.fn === "op.or" || expr.fn === "op.and") return expr.args.flatMap(comparedIn);
  if (left === undefined) return [];
  if (expr.fn === "op.is_null" && left.node === "column") return [{ column: left.name, isFixed: true }];
  if (expr.fn === "op.in" && left.node === "column" && expr.args.slice(1).every(isRequestValue)) {
    return [{ column: left.name, isFixed: true }];
  }
  if (right === undefined || !COMPARISONS.has(expr.fn)) return [];
  const column = left.node === "column" ? left : right;
  const value = left.node === "column" ? right : left;
  if (column.node !== "column" || !isRequestValue(value)) return [];
  return [{ column: column.name, isFixed: expr.fn === "op.eq" }];
}

function isRequestValue(expr: Expr): boolean {
  return expr.node === "literal" || expr.node === "parameter";
}

/** The conditions of a statement as SQL. All have forms: the planner has checked. */
export function writeConditions(where: readonly Expr[], indexed: IndexedTexts, writer: ExpressionWriter): string[] {
  return where.map((expr) => {
    const sql = writeCondition(expr, indexed, writer);
    if (sql === undefined) throw new TypeError("A statement has a condition without SQL form.");
    return sql;
  });
}

/** A condition as SQL that an index supports; undefined when it has no SQL form. */
function writeCondition(expr: Expr, indexed: IndexedTexts, writer: ExpressionWriter): string | undefined {
  if (expr.node === "call" && (expr.fn === "op.or" || expr.fn === "op.and") && isPlain(expr)) {
    const parts = expr.args.map((arg) => writeCondition(arg, indexed, writer));
    // The form of `|` and `&` evaluates both sides, which no index supports. These conditions cannot fail.
    if (!parts.includes(undefined)) return `(${parts.join(expr.fn === "op.or" ? " or " : " and ")})`;
  }
  const sql = writer.write(expr);
  if (sql === undefined || expr.node !== "call") return sql;
  const hint = hintFor(expr, indexed, writer);
  return hint === undefined ? sql : `${hint} and ${sql}`;
}

/** The first sort key as SQL that an index supports, and its derivation; undefined when nothing is to be added. */
export function writeOrderHint(
  expr: Expr,
  indexed: IndexedTexts,
  writer: ExpressionWriter,
): { readonly sql: string; readonly hint: (sql: string) => string } | undefined {
  if (expr.node !== "column" || !isText(expr.type)) return undefined;
  const how = indexed.get(expr.name);
  const sql = writer.write(expr);
  if (typeof how !== "number" || sql === undefined) return undefined;
  const hint = (text: string) => indexedPrefix(text, how);
  return { sql: hint(sql), hint };
}

/** Comparisons of columns with given values, and their combinations by `|` and `&`. */
function isPlain(expr: Expr): boolean {
  if (expr.node !== "call" || Object.keys(expr.kwargs).length > 0) return false;
  const [first, ...others] = expr.args;
  if (first === undefined) return false;
  if (expr.fn === "op.or" || expr.fn === "op.and") return expr.args.every(isPlain);
  if (!expr.args.every((arg) => arg.node === "column" || isRequestValue(arg))) return false;
  const { kind } = first.type;
  if (kindOf(first.type).index === null || others.some((arg) => arg.type.kind !== kind)) return false;
  return COMPARISONS.has(expr.fn) || ["op.in", "op.is_null", "op.is_not_null"].includes(expr.fn);
}

type Call = Extract<Expr, { node: "call" }>;

function hintFor(expr: Call, indexed: IndexedTexts, writer: ExpressionWriter): string | undefined {
  const [left, right, ...more] = expr.args;
  if (left === undefined) return undefined;
  if (expr.fn === "op.is_null") return compared(left, indexed, writer, (over) => `${over(left)} is null`);
  if (right === undefined) return undefined;
  if (expr.fn === "op.in") {
    const options = expr.args.slice(1);
    if (!options.every(isRequestValue) || options.some(({ type }) => !isText(type))) return undefined;
    return compared(left, indexed, writer, (over) => `${over(left)} = any (array[${options.map(over).join(", ")}])`);
  }
  if (more.length > 0) return undefined;
  return (
    comparisonHint(expr.fn, left, right, indexed, writer) ??
    comparisonHint(MIRRORED[expr.fn] ?? "", right, left, indexed, writer)
  );
}

function comparisonHint(
  fn: string,
  column: Expr,
  value: Expr,
  indexed: IndexedTexts,
  writer: ExpressionWriter,
): string | undefined {
  const sign = OF_PREFIXES[fn];
  if (sign === undefined || !isRequestValue(value) || !isText(value.type)) return undefined;
  const isHash = column.node === "column" && indexed.get(column.name) === "hash";
  if (isHash && fn !== "op.eq") return undefined;
  return compared(column, indexed, writer, (over) => `${over(column)} ${sign} ${over(value)}`);
}

/** Converts what `write` makes of texts to the indexed form of `column`. */
function compared(
  column: Expr,
  indexed: IndexedTexts,
  writer: ExpressionWriter,
  write: (over: (text: Expr) => string) => string,
): string | undefined {
  if (column.node !== "column" || !isText(column.type)) return undefined;
  const how = indexed.get(column.name);
  if (how === undefined) return undefined;
  return write((text) => {
    const sql = writer.write(text);
    if (sql === undefined) throw new TypeError("A column or a given value has no SQL.");
    return how === "hash" ? keyExpression(sql, column.type) : indexedPrefix(sql, how);
  });
}
