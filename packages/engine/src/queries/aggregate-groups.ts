import type { EngineValue } from "@appdb/contract/types";
import { shownOf } from "../catalog/shown-values.ts";
import { STRING_TYPE } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import { arrayText } from "../kinds/values.ts";
import type { SqlConnection, UdfFold, UdfFolded, UdfRunner } from "../ports.ts";
import { decodeRows, type QueryArguments } from "../query-plans/python-rows.ts";
import type { FoldStage, PlannedFold, PlannedStatement } from "../query-plans/query-plan.ts";
import { computeError, type FailedAt } from "../query-plans/query-refusals.ts";
import { FIRST_FETCH, nextFetch } from "../sql/next-fetch.ts";
import { type QueryLimits, tooManyBytes } from "../sql/query-limits.ts";
import { quoteTable } from "../sql/quote.ts";
import type { StatementPool } from "../timing.ts";
import { startFold } from "./start-fold.ts";

/** Rows per cursor fetch, for Python, and fewer of those whose files are decoded. */
const FETCHED = 500;
const FETCHED_FILES = 32;

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
  // Without keys there is one group, with or without rows.
  const also = stage.keys.length === 0 ? [0] : [];
  const folded: ReadonlyMap<number, UdfFolded>[] = [];
  for (const { rows, columns, folds: planned, is_sorted: isSorted } of stage.streams) {
    const folds: UdfFold[] = [];
    const most = readsFiles(planned) ? FETCHED_FILES : FETCHED;
    let fetched = FIRST_FETCH;
    try {
      for (const fold of planned) folds.push(await startFold(udf(), fold, args, { isSorted, isWindow: false }));
      const { text, values } = fill(rows);
      await connection.query({ text: `declare rows no scroll cursor for ${text}`, values });
      for (;;) {
        signal?.throwIfAborted();
        const { rows: texts } = await connection.query({ text: `fetch ${fetched} from rows`, signal });
        fetched = nextFetch(texts, most);
        if (texts.length === 0) break;
        const numbers = texts.map(([number]) => Number(number));
        const found = columnsOf(decodeRows(columns, texts, 1), columns.length);
        await Promise.all(
          folds.map((fold, at) =>
            fold.add(
              numbers,
              (planned[at]?.inputs ?? []).map((input) => found[input.at] ?? []),
            ),
          ),
        );
      }
      await connection.query({ text: "close rows" });
      folded.push(...(await Promise.all(folds.map((fold) => fold.finish(also)))));
    } finally {
      for (const fold of folds) await fold[Symbol.asyncDispose]();
    }
  }
  return folded;
}

/** Whether aggregates get files, or compute their arguments. */
function readsFiles(folds: readonly PlannedFold[]): boolean {
  return folds.some(
    ({ inputs, args }) =>
      inputs.some(({ type }) => isMedia(type.kind)) || args.some(({ expr }) => expr.node !== "column"),
  );
}

function columnsOf(rows: readonly (readonly EngineValue[])[], count: number): EngineValue[][] {
  return Array.from({ length: count }, (_none, at) => rows.map((row) => row[at] ?? null));
}

function failedAt(stage: FoldStage, fold: PlannedFold, values: readonly EngineValue[]): FailedAt {
  const group = stage.keys.map((name, at) => {
    const { kind } = stage.columns[at]?.type ?? STRING_TYPE;
    return [name, shownOf(kind, values[at] ?? null)] as const;
  });
  return { column: fold.output, group: Object.fromEntries(group) };
}
