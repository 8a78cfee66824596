import type { Expr } from "@appdb/contract/expressions";
import type { EngineValue } from "@appdb/contract/types";
import type { BoundQuery, BoundTable } from "../bound-queries/bind-query.ts";
import { conjuncts } from "../query-plans/clauses.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import { watchedValue } from "./change-message.ts";
import type { WatchedTable } from "./live-triggers.ts";

/** The rows of a table that can change a query's result: those with a value in a column, or all. */
export interface WatchPoint {
  readonly table: WatchedTable;
  readonly only: { readonly column: string; readonly value: string } | null;
}

/**
 * Finds the relevant rows for each table of a query. A condition `column == parameter` in `where` applies to all result
 * rows, also after joins. Rows with other values cannot be in the result before or after a change, so they are
 * excluded.
 */
export function findWatchPoints(bound: BoundQuery, args: QueryArguments): readonly WatchPoint[] {
  const conditions = conjuncts(bound.query.where);
  return bound.tables.map((table) => ({ table: table.table, only: findEquality(table, conditions, args) }));
}

/** The columns whose values distinguish queries, for any arguments. */
export function findWatchedColumns(
  bound: BoundQuery,
): readonly { readonly table_id: number; readonly column: string }[] {
  const conditions = conjuncts(bound.query.where);
  return bound.tables.flatMap((table) =>
    conditions.flatMap((condition) => {
      const found = readEquality(table, condition);
      return found === undefined ? [] : [{ table_id: table.table.id, column: found.column }];
    }),
  );
}

function findEquality(table: BoundTable, conditions: readonly Expr[], args: QueryArguments): WatchPoint["only"] {
  for (const condition of conditions) {
    const found = readEquality(table, condition);
    // A value that is computed when the query runs is unknown here.
    if (found === undefined || (found.input.node === "parameter" && !args.has(found.input.name))) continue;
    const value = watchedValue(found.input.type, inputValue(found.input, args));
    if (value !== undefined) return { column: found.column, value };
  }
  return null;
}

function readEquality({ alias }: BoundTable, condition: Expr): { column: string; input: Expr } | undefined {
  if (condition.node !== "call" || condition.fn !== "op.eq") return undefined;
  const column = condition.args.find((arg) => arg.node === "column");
  const constant = condition.args.find((arg) => arg.node === "literal" || arg.node === "parameter");
  if (column?.node !== "column" || constant === undefined || column.type.kind !== constant.type.kind) return undefined;
  const prefix = `${alias}.`;
  if (!column.name.startsWith(prefix) || column.name.includes("!")) return undefined;
  return { column: column.name.slice(prefix.length), input: constant };
}

function inputValue(constant: Expr, args: QueryArguments): EngineValue {
  if (constant.node === "literal") return constant.value;
  return constant.node === "parameter" ? (args.get(constant.name) ?? null) : null;
}
