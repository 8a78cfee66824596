import type { Expr, PathStep } from "@appdb/contract/expressions";
import { literalSql } from "../kinds/values.ts";
import { quoteIdent, quoteLiteral } from "../sql/quote.ts";
import { composedSql } from "./composed-sql.ts";
import { isFolded, isVolatile } from "./folding.ts";
import type { Argument, Forms } from "./form.ts";
import { FORMS } from "./forms.ts";

export type ColumnNode = Extract<Expr, { node: "column" }>;
export type ParameterNode = Extract<Expr, { node: "parameter" }>;
export type CellErrorNode = Extract<Expr, { node: "cell_error" }>;
type Call = Extract<Expr, { node: "call" }>;
type Path = Extract<Expr, { node: "path" }>;

/**
 * The sources of an expression's values. Each returns SQL of the node's storage type, or undefined when none exists.
 * The SQL may be repeated and must have no side effects. Omitted sources have no SQL.
 */
export interface SqlSources {
  /** The stored value of a column; `of` names its table if there are several. */
  columnSql(node: ColumnNode): string | undefined;
  /** A parameter of the query. A `nullable` one may be null when the statement is planned. */
  parameterSql?(node: ParameterNode): string | undefined;
  /** The reason for the missing value of a computed cell: null, or text. */
  cellErrorSql?(node: CellErrorNode): string | undefined;
}

/** The columns of one row under their own names, without parameters and cell errors. */
export const ROW_COLUMNS: SqlSources = { columnSql: ({ name }) => quoteIdent(name) };

/** Forms may repeat their arguments, so the length is exponential in the depth. Longer SQL is left to Python. */
const MAX_SQL_LENGTH = 10_000;

/**
 * Compiles an expression to SQL over a row of one or several tables. Undefined when a part of it has no SQL form, such
 * as an application function.
 * The SQL never gives another value than the Python form. It may raise SQLSTATE class 22 (or 54 when a value exceeds
 * PostgreSQL's limits) where Python gives a value or a cell error. Python then computes that row.
 */
export function compileSql(expr: Expr, sources: SqlSources, forms: Forms = FORMS): string | undefined {
  // SQL keeps the spaces and digits of a Json part, while Python serialises it again.
  if (expr.node === "path" || (expr.node === "call" && expr.fn === "json.get")) return undefined;
  return compile(expr, sources, forms);
}

/** Like compileSql, for a value that is shown and not stored. A part of a Json value may keep its spaces and digits. */
export function compileShown(expr: Expr, sources: SqlSources): string | undefined {
  return compile(expr, sources, FORMS);
}

function compile(expr: Expr, sources: SqlSources, forms: Forms): string | undefined {
  switch (expr.node) {
    case "dict":
    case "list":
      return composedSql(expr, (part) => compile(part, sources, forms));
    case "udf":
    case "item":
    case "query":
    case "aggregate":
    case "window":
    case "similarity":
      return undefined;
    case "column":
      return sources.columnSql(expr);
    case "parameter":
      return sources.parameterSql?.(expr);
    case "cell_error":
      return sources.cellErrorSql?.(expr);
    case "literal":
      return literalSql(expr.value, expr.type);
    case "path":
      return compilePath(expr, sources, forms);
    case "call":
      return compileCall(expr, sources, forms);
  }
}

function compilePath(expr: Path, sources: SqlSources, forms: Forms): string | undefined {
  // The planner folds a constant, and its nulls spread over operators before the other operand is evaluated.
  if (expr.base.node === "literal" || expr.base.node === "parameter") return undefined;
  const base = compile(expr.base, sources, forms);
  if (base === undefined) return undefined;
  const steps = expr.steps.map(stepSql);
  return steps.includes(undefined) ? undefined : `(${base} -> ${steps.join(" -> ")})`;
}

function stepSql(step: PathStep): string | undefined {
  if ("key" in step) return step.key.includes("\0") ? undefined : `${quoteLiteral(step.key)}::text`;
  if (!("index" in step)) return undefined;
  return Math.abs(step.index) < 2 ** 31 ? `'${step.index}'::int4` : undefined;
}

function compileCall(expr: Call, sources: SqlSources, forms: Forms): string | undefined {
  const byKinds = forms[expr.fn];
  const form = byKinds?.[expr.args.map((arg) => arg.type.kind).join(",")] ?? byKinds?.["*"];
  if (form === undefined || isFolded(expr) || (expr.fn !== "op.cast" && expr.args.some(isVolatile))) return undefined;
  const args = compileArguments(expr.args, sources, forms);
  const named = compileArguments(Object.values(expr.kwargs), sources, forms);
  if (args === undefined || named === undefined) return undefined;
  const kwargs = Object.fromEntries(Object.keys(expr.kwargs).map((name, i) => [name, named[i] as Argument]));
  const sql = form({ args, kwargs, kind: expr.type.kind });
  return sql === undefined || sql.length > MAX_SQL_LENGTH ? undefined : sql;
}

/** SQL of the reason for a missing value of a computed column. `errors` is SQL of its row's cell errors (jsonb). */
export function cellErrorText(errors: string, { column, part }: CellErrorNode): string {
  // The error of a pending cell is a plain word without parts.
  return `((${errors} -> ${quoteLiteral(column)} ->> '${part}') collate pg_unicode_fast)`;
}

function compileArguments(exprs: readonly Expr[], sources: SqlSources, forms: Forms): Argument[] | undefined {
  const args: Argument[] = [];
  for (const expr of exprs) {
    const sql = compile(expr, sources, forms);
    if (sql === undefined) return undefined;
    args.push({ sql, expr });
  }
  return args;
}
