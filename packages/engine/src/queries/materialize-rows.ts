import type { EngineValue } from "@appdb/contract/types";
import { arrayText } from "../kinds/values.ts";
import type { SqlConnection, Statement, UdfRunner } from "../ports.ts";
import {
  bindInputs,
  computeRows,
  decodeRows,
  meetsConditions,
  type QueryArguments,
  refuseErrors,
} from "../query-plans/python-rows.ts";
import type { MaterialStage, NamedType, PlannedWindow, WindowStage } from "../query-plans/query-plan.ts";
import { computeError } from "../query-plans/query-refusals.ts";
import { FIRST_FETCH, nextFetch } from "../sql/next-fetch.ts";
import { type QueryLimits, tooManyBytes } from "../sql/query-limits.ts";
import { measured, type StatementPool, type Timing } from "../timing.ts";
import { startFold } from "./start-fold.ts";

/** Maximum rows per cursor fetch, for Python. */
const FETCHED = 500;
/** Rows of a window in a worker at once. */
const FED = 128;

/** Values for sorting, grouping or counting are computed before the result exists. */
const SORTED = { clause: "order_by or group_by" };

export interface MaterialInput {
  readonly query: string;
  readonly statement: Statement;
  readonly args: QueryArguments;
  readonly limits: QueryLimits;
  readonly udf: () => UdfRunner;
  /** Maximum rows that are needed. */
  readonly enough: number;
  /** Whether the tables have the versions of the statements. */
  readonly isCurrent: (connection: SqlConnection) => Promise<boolean>;
  /** Counts rows that are held until the response is ready. */
  readonly hold: (rows: number) => void;
  readonly signal: AbortSignal | undefined;
  readonly timing: Timing | undefined;
}

/** Reads rows with a cursor, computes Python values, and keeps the next statement's inputs as array texts. Undefined when a
 *  table version has changed. @throws function_failed and related codes, result_too_large, worker_unavailable, overloaded */
export async function materializeRows(
  sql: StatementPool,
  stage: MaterialStage,
  input: MaterialInput,
): Promise<readonly string[] | undefined> {
  const { query, args, udf, signal, timing } = input;
  const { graph, columns, conditions } = stage;
  if (graph === null) return textsOf(columns, await readRows(sql, columns, input, (rows) => rows));
  const inputs = bindInputs(graph, columns, args);
  const rows = await readRows(sql, columns, input, async (read) => {
    const computed = await measured(timing, "py", computeRows(udf(), graph, read.map(inputs), signal));
    return computed.flatMap((result, at) => {
      if (!meetsConditions(query, graph, conditions, result)) return [];
      refuseErrors(query, graph, conditions, result, () => SORTED);
      return [[...(read[at] ?? []), ...result.values.slice(conditions)]];
    });
  });
  return textsOf([...columns, ...graph.steps.slice(conditions)], rows);
}

/** The same for rows with windows of the application: aggregates get the rows in the order of each window.
 *  @throws as `materializeRows`, worker_died */
export async function materializeWindows(
  sql: StatementPool,
  stage: WindowStage,
  input: MaterialInput,
): Promise<readonly string[] | undefined> {
  const rows = await readRows(sql, stage.columns, input, (read) => read);
  if (rows === undefined) return undefined;
  const kept = rows.map((row) => row.slice(0, stage.kept));
  for (const window of stage.windows) {
    const values = await measured(input.timing, "py", foldWindow(rows, window, input));
    for (const [at, row] of kept.entries()) row.push(values[at] ?? null);
  }
  return textsOf([...stage.columns.slice(0, stage.kept), ...stage.windows.map(({ fold }) => fold)], kept);
}

/** The value of a window for each row. */
async function foldWindow(
  rows: readonly (readonly EngineValue[])[],
  { fold: planned, group, place }: PlannedWindow,
  { query, args, udf, signal }: MaterialInput,
): Promise<readonly EngineValue[]> {
  const order = rows.map((_row, at) => at).sort((a, b) => Number(rows[a]?.[place]) - Number(rows[b]?.[place]));
  const values = new Array<EngineValue>(rows.length).fill(null);
  const fold = await startFold(udf(), planned, args, { isSorted: true, isWindow: true });
  try {
    for (let first = 0; first < order.length; first += FED) {
      signal?.throwIfAborted();
      const part = order.slice(first, first + FED);
      const groups = part.map((at) => Number(rows[at]?.[group]));
      const columns = planned.inputs.map(({ at: column }) => part.map((at) => rows[at]?.[column] ?? null));
      for (const [k, { value, error }] of (await fold.add(groups, columns)).entries()) {
        if (error !== null) throw computeError(query, { column: planned.output, group: {} }, error);
        values[part[k] ?? 0] = value;
      }
    }
  } finally {
    await fold[Symbol.asyncDispose]();
  }
  return values;
}

/** Reads all rows, and keeps what `compute` makes of each part. */
async function readRows(
  sql: StatementPool,
  columns: readonly NamedType[],
  { query, statement, limits, enough, isCurrent, hold, signal }: MaterialInput,
  compute: (rows: EngineValue[][]) => EngineValue[][] | Promise<EngineValue[][]>,
): Promise<EngineValue[][] | undefined> {
  const kept: EngineValue[][] = [];
  let bytes = 0;
  const isComplete = await sql.transaction(async (connection) => {
    const { text, values = [] } = statement;
    await connection.query({ text: `declare rows no scroll cursor for ${text}`, values });
    let fetched = FIRST_FETCH;
    for (let count = 0; kept.length < enough; ) {
      const { rows } = await connection.query({ text: `fetch ${fetched} from rows`, signal });
      fetched = nextFetch(rows, FETCHED);
      if (rows.length === 0) return count > 0 || (await isCurrent(connection));
      count += rows.length;
      const made = await compute(decodeRows(columns, rows));
      for (const row of made) {
        for (const value of row) bytes += typeof value === "string" ? value.length : 8;
        kept.push(row);
      }
      hold(made.length);
      if (bytes > limits.result_bytes) throw tooManyBytes(query, limits);
    }
    return true;
  });
  return isComplete ? kept : undefined;
}

function textsOf(types: readonly NamedType[], rows: EngineValue[][] | undefined): readonly string[] | undefined {
  return rows === undefined ? undefined : types.map(({ type }, at) => arrayText(type.kind, rows, at));
}
