import type { Expr } from "@appdb/contract/expressions";
import type { EngineValue } from "@appdb/contract/types";
import { shownOf } from "../catalog/shown-values.ts";
import { mapParts } from "../expressions/tree.ts";
import { asBuffer } from "../kinds/binary.ts";
import { STRING_TYPE } from "../kinds/kinds.ts";
import { arrayText } from "../kinds/values.ts";
import type { SqlConnection, UdfFold, UdfFolded, UdfRunner } from "../ports.ts";
import { decodeRows, type QueryArguments } from "../query-plans/python-rows.ts";
import type { FoldStage, PlannedFold, PlannedStatement } from "../query-plans/query-plan.ts";
import { computeError, type FailedAt } from "../query-plans/query-refusals.ts";
import { type QueryLimits, tooManyBytes } from "../sql/query-limits.ts";
import { quoteTable } from "../sql/quote.ts";
import type { StatementPool } from "../timing.ts";

/** Rows per cursor fetch, for Python. */
const FETCHED = 500;

export interface FoldInput {
  readonly query: string;
  readonly stage: FoldStage;
  readonly args: QueryArguments;
  readonly limits: QueryLimits;
  readonly udf: () => UdfRunner;
  /** A planned statement with its values. */
  readonly fill: (planned: PlannedStatement) => { readonly text: string; readonly values: unknown[] };
  /** Whether the tables have the versions of the statements. */
  readonly isCurrent: (connection: SqlConnection) => Promise<boolean>;
  /** Counts groups that are held until the response is ready. */
  readonly hold: (groups: number) => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes the groups of a query with application aggregates. One statement gives keys and built-in aggregates. A cursor
 * streams rows to the workers for the others. Both statements use one snapshot. Returns the groups as array texts;
 * undefined when a table version has changed.
 * @throws function_failed and related codes, worker_died, result_too_large, worker_unavailable, overloaded
 */
export function aggregateGroups(sql: StatementPool, input: FoldInput): Promise<readonly string[] | undefined> {
  const { stage, query, limits } = input;
  return sql.transaction(async (connection) => {
    await connection.query({ text: "set transaction isolation level repeatable read" });
    if (stage.tables.length > 0) {
      // Locks before the first read, so that all later reads see the locked shape.
      await connection.query({ text: `lock table ${stage.tables.map(quoteTable).join(", ")} in access share mode` });
      if (!(await input.isCurrent(connection))) return undefined;
    }
    const groups = await readGroups(connection, input);
    input.hold(groups.length);
    const folded = await foldRows(connection, input);
    let bytes = 0;
    groups.forEach((values, group) => {
      stage.folds.forEach((fold, at) => {
        const result = folded[at]?.get(group);
        if (result === undefined) throw new TypeError("A group has no value of its aggregate.");
        if (result.error !== null) throw computeError(query, failedAt(stage, fold, values), result.error);
        values.push(result.value);
      });
      for (const value of values) bytes += typeof value === "string" ? value.length : 8;
    });
    if (bytes > limits.result_bytes) throw tooManyBytes(query, limits);
    return [...stage.columns, ...stage.folds].map(({ type }, at) => arrayText(type.kind, groups, at));
  });
}

/** Keys and built-in aggregates of each group, in key order. The index of a group is its number. */
async function readGroups(connection: SqlConnection, input: FoldInput): Promise<EngineValue[][]> {
  const { stage, limits, signal } = input;
  if (stage.groups === null) return [[]];
  const { text, values } = input.fill(stage.groups);
  const { rows } = await connection.query({ text, values, max_bytes: limits.result_bytes, signal });
  return decodeRows(stage.columns, rows);
}

/** Streams all rows to the aggregates, each with the number of its group. */
async function foldRows(
  connection: SqlConnection,
  { stage, args, udf, fill, signal }: FoldInput,
): Promise<readonly ReadonlyMap<number, UdfFolded>[]> {
  const folds: UdfFold[] = [];
  try {
    for (const { function: fn, type, args: argExprs, constants } of stage.folds) {
      const fixed = Object.entries(constants).map(([name, expr]) => [name, withValues(expr, args)]);
      const shown = argExprs.map(({ name, type: kind, nullable }) => ({ name, type: kind, nullable }));
      folds.push(await udf().fold({ function: fn, result: type, args: shown, constants: Object.fromEntries(fixed) }));
    }
    const { text, values } = fill(stage.rows);
    await connection.query({ text: `declare rows no scroll cursor for ${text}`, values });
    for (;;) {
      signal?.throwIfAborted();
      const { rows } = await connection.query({ text: `fetch ${FETCHED} from rows`, signal });
      if (rows.length === 0) break;
      const numbers = rows.map(([number]) => Number(number));
      const columns = columnsOf(decodeRows(stage.arguments, rows, 1), stage.arguments.length);
      await Promise.all(
        folds.map((fold, at) =>
          fold.add(
            numbers,
            (stage.folds[at]?.args ?? []).map((arg) => columns[arg.at] ?? []),
          ),
        ),
      );
    }
    // Without keys there is one group, with or without rows.
    const also = stage.keys.length === 0 ? [0] : [];
    return await Promise.all(folds.map((fold) => fold.finish(also)));
  } finally {
    for (const fold of folds) await fold[Symbol.asyncDispose]();
  }
}

function columnsOf(rows: readonly (readonly EngineValue[])[], count: number): EngineValue[][] {
  return Array.from({ length: count }, (_none, at) => rows.map((row) => row[at] ?? null));
}

/** Query parameters as literals: a worker knows only rows and constants. */
function withValues(expr: Expr, args: QueryArguments): Expr {
  if (expr.node !== "parameter") return mapParts(expr, (part) => withValues(part, args));
  const { type, nullable } = expr;
  return { node: "literal", value: literalOf(args.get(expr.name) ?? null), type, nullable };
}

/** Digits stay exact, and bytes become base64, as in a file's literals. */
function literalOf(value: EngineValue): string | number | boolean | null {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Uint8Array ? asBuffer(value).toString("base64") : value;
}

function failedAt(stage: FoldStage, fold: PlannedFold, values: readonly EngineValue[]): FailedAt {
  const group = stage.keys.map((name, at) => {
    const { kind } = stage.columns[at]?.type ?? STRING_TYPE;
    return [name, shownOf(kind, values[at] ?? null)] as const;
  });
  return { column: fold.output, group: Object.fromEntries(group) };
}
