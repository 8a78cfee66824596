import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import { nearestName } from "@appdb/contract/nearest";
import { displayType } from "@appdb/contract/types";
import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import {
  type CellErrorNode,
  cellErrorText,
  compileShown,
  compileSql,
  type SqlSources,
} from "../expressions/compile-sql.ts";
import { partsOf } from "../expressions/tree.ts";
import { BOOL_TYPE } from "../kinds/kinds.ts";
import { SqlError } from "../ports.ts";
import { quoteIdent } from "../sql/quote.ts";
import type { ReadableTable } from "../views/view-tables.ts";
import { CONDITION_FORMS } from "./operands.ts";
import { parseCondition } from "./parse-condition.ts";

/** Deeper trees would exhaust the stack of recursive functions. */
const MAX_DEPTH = 100;
const LOGIC: ReadonlyMap<string, string> = new Map([
  ["op.and", "and"],
  ["op.or", "or"],
  ["op.not", "not"],
]);

/** The columns that a condition may name: filled ones, without vectors of indexes. */
export function namedColumns({ columns }: CatalogTable): readonly CatalogColumn[] {
  return columns.filter(({ state, is_hidden: isHidden }) => state === "ready" && isHidden !== true);
}

/**
 * SQL of a condition over the columns of a table or view, a text of people or an expression; null for all rows. The SQL may raise SQLSTATE class 22, which
 * `explainCondition` makes an error for the caller.
 * @throws column_not_found, invalid_condition, invalid_request
 */
export function conditionSql(table: ReadableTable, given: string | Expr | null): string | undefined {
  if (given === null) return undefined;
  const notFound = (name: string, isQuoted: boolean) => columnNotFound(table, name, isQuoted);
  const condition =
    typeof given === "string" ? parseCondition(given, { columns: namedColumns(table), notFound }) : given;
  if (condition.type.kind !== BOOL_TYPE.kind) {
    throw invalid(
      table,
      `The condition has the type ${displayType(condition.type, condition.nullable)}, not Bool.`,
      "Compare the value: score > 0.5",
    );
  }
  checkColumns(table, condition, 0);
  return logicSql(table, condition);
}

/** PostgreSQL's own AND, OR and NOT use indexes, and have no maximum length. */
function logicSql(table: ReadableTable, expr: Expr): string {
  const sign = expr.node === "call" ? LOGIC.get(expr.fn) : undefined;
  if (expr.node !== "call" || sign === undefined) {
    return compileSql(expr, rowSources(table), CONDITION_FORMS) ?? refuseSql(table, "condition");
  }
  const parts = expr.args.map((arg) => logicSql(table, arg));
  return parts.length === 1 ? `(${sign} ${parts[0]})` : `(${parts.join(` ${sign} `)})`;
}

/** SQL of an expression over the columns of a table or view. `what`: its name for people. @throws as `conditionSql` */
export function expressionSql(table: ReadableTable, expr: Expr, what: string): string {
  checkColumns(table, expr, 0);
  return compileShown(expr, rowSources(table)) ?? refuseSql(table, what);
}

function refuseSql(table: ReadableTable, what: string): never {
  throw invalid(
    table,
    `The ${what} cannot be computed in PostgreSQL.`,
    "Read the rows with a query, which runs functions in Python, and change them by their keys.",
  );
}

/** The columns of a row of a table or view, and the reasons of its failed cells. */
function rowSources({ shown }: ReadableTable): SqlSources {
  return {
    columnSql: ({ name }) => quoteIdent(name),
    cellErrorSql: (node: CellErrorNode) =>
      cellErrorText("_errors", { ...node, column: shown?.stored_as.get(node.column) ?? node.column }),
  };
}

/** Refuses columns that the table lacks, or that have another type. */
function checkColumns(table: ReadableTable, expr: Expr, depth: number): void {
  if (depth > MAX_DEPTH) {
    throw invalid(table, `The expression is nested more than ${MAX_DEPTH} levels deep.`, "Simplify the expression.");
  }
  if (expr.node === "column") checkColumn(table, expr.name, expr);
  if (expr.node === "cell_error") checkColumn(table, expr.column, undefined);
  for (const part of partsOf(expr)) checkColumns(table, part, depth + 1);
}

function checkColumn(table: ReadableTable, name: string, expr: Expr | undefined): void {
  const column = namedColumns(table).find((one) => one.name === name);
  if (column === undefined) throw columnNotFound(table, name);
  if (expr === undefined || expr.type.kind === column.type.kind) return;
  throw invalid(
    table,
    `The column ${name} has the type ${displayType(column.type, column.nullable)}, not ${displayType(expr.type, expr.nullable)}.`,
    `Read the columns of the table again: cli describe ${table.name}`,
  );
}

/** The error for a column that a condition or an assignment names and the table lacks. */
export function columnNotFound(table: ReadableTable, name: string, isQuoted = false): Error {
  const known = namedColumns(table).map((column) => column.name);
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? `It has ${known.join(", ")}.` : `Did you mean ${nearest}?`;
  return appError("column_not_found", {
    detail: `${table.name} has no column ${JSON.stringify(name)}.`,
    hint: isQuoted ? `A text has single quotes. ${hint}` : hint,
    meta: { table: table.name, column: name },
  });
}

/** Converts PostgreSQL's refusal of a value in a condition or an assignment. Other errors stay the same. */
export function explainCondition(table: Pick<CatalogTable, "name">, error: unknown): unknown {
  if (!(error instanceof SqlError) || !/^(22|54)/.test(error.sqlstate)) return error;
  return appError("invalid_request", {
    detail: `The expression cannot be computed for a row of ${table.name}: ${error.message}.`,
    hint: "Exclude such rows in the condition, or correct the expression.",
    meta: { table: table.name, sqlstate: error.sqlstate },
    cause: error,
  });
}

function invalid(table: Pick<CatalogTable, "name">, detail: string, hint: string): Error {
  return appError("invalid_request", { detail, hint, meta: { table: table.name } });
}
