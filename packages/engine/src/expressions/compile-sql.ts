import type { Expr, PathStep } from "@appdb/contract/expressions";
import { quoteLiteral } from "../sql/quote.ts";
import type { Argument, Forms } from "./form.ts";
import { FORMS } from "./forms.ts";
import { literalSql } from "./literal-sql.ts";
import { partsOf } from "./tree.ts";

type Call = Extract<Expr, { node: "call" }>;
type Path = Extract<Expr, { node: "path" }>;

/** Forms may repeat their arguments, which grows by powers with depth; what is longer than this is left to Python. */
const MAX_SQL_LENGTH = 10_000;

/**
 * Writes an expression as SQL over one row; undefined when a part of it has no SQL form, an application's function among
 * them. `columnSql` gives the SQL of a column's stored value.
 *
 * The SQL never gives another value than the Python form. It may raise SQLSTATE class 22 (or 54 when a value grows
 * beyond what PostgreSQL holds) where Python gives a value or an error of the cell: such a row is Python's.
 */
export function compileSql(expr: Expr, columnSql: (name: string) => string, forms: Forms = FORMS): string | undefined {
  // A part of a Json value keeps its blanks and digits in SQL, while Python writes it anew.
  if (expr.node === "path") return undefined;
  return compile(expr, columnSql, forms);
}

function compile(expr: Expr, columnSql: (name: string) => string, forms: Forms): string | undefined {
  switch (expr.node) {
    case "udf":
    case "dict":
    case "list":
    case "item":
    case "cell_error":
    case "query":
    case "aggregate":
    case "parameter":
      return undefined;
    case "column":
      return columnSql(expr.name);
    case "literal":
      return literalSql(expr.value, expr.type);
    case "path":
      return compilePath(expr, columnSql, forms);
    case "call":
      return compileCall(expr, columnSql, forms);
  }
}

function compilePath(expr: Path, columnSql: (name: string) => string, forms: Forms): string | undefined {
  // A constant is folded by the planner, nulls in it spread over operators before their other operand is looked at.
  if (expr.base.node === "literal") return undefined;
  const base = compile(expr.base, columnSql, forms);
  if (base === undefined) return undefined;
  const steps = expr.steps.map(stepSql);
  return steps.includes(undefined) ? undefined : `(${base} -> ${steps.join(" -> ")})`;
}

function stepSql(step: PathStep): string | undefined {
  if ("key" in step) return step.key.includes("\0") ? undefined : `${quoteLiteral(step.key)}::text`;
  if (!("index" in step)) return undefined;
  return Math.abs(step.index) < 2 ** 31 ? `'${step.index}'::int4` : undefined;
}

function compileCall(expr: Call, columnSql: (name: string) => string, forms: Forms): string | undefined {
  const byKinds = forms[expr.fn];
  const form = byKinds?.[expr.args.map((arg) => arg.type.kind).join(",")] ?? byKinds?.["*"];
  if (form === undefined || isFolded(expr) || (expr.fn !== "op.cast" && expr.args.some(isVolatile))) return undefined;
  const args = compileArguments(expr.args, columnSql, forms);
  const named = compileArguments(Object.values(expr.kwargs), columnSql, forms);
  if (args === undefined || named === undefined) return undefined;
  const kwargs = Object.fromEntries(Object.keys(expr.kwargs).map((name, i) => [name, named[i] as Argument]));
  const sql = form({ args, kwargs, kind: expr.type.kind });
  return sql === undefined || sql.length > MAX_SQL_LENGTH ? undefined : sql;
}

function compileArguments(
  exprs: readonly Expr[],
  columnSql: (name: string) => string,
  forms: Forms,
): Argument[] | undefined {
  const args: Argument[] = [];
  for (const expr of exprs) {
    const sql = compile(expr, columnSql, forms);
    if (sql === undefined) return undefined;
    args.push({ sql, expr });
  }
  return args;
}

/** The planner makes null of a call with a null constant, and never looks at an argument that would have raised. */
function isFolded(expr: Call): boolean {
  if (expr.fn === "string.format" || expr.fn === "op.is_null" || expr.fn === "op.is_not_null") return false;
  return expr.args.some((arg) => arg.node === "literal" && arg.value === null);
}

/** Forms may repeat their arguments; each copy of a new UUID would be another one. */
function isVolatile(expr: Expr): boolean {
  return (expr.node === "call" && expr.fn.startsWith("uuid.")) || partsOf(expr).some(isVolatile);
}
