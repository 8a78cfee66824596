import type { EngineValue } from "@appdb/contract/types";
import { fromSqlText } from "../kinds/values.ts";
import type { SqlResult, Statement, UdfGraph, UdfRunner } from "../ports.ts";
import { bindInputs, computeRows, decodeRows, type QueryArguments, refuseErrors } from "../query-plans/python-rows.ts";
import type { FinalStage, QueryPlan } from "../query-plans/query-plan.ts";
import type { FailedAt } from "../query-plans/query-refusals.ts";
import { type QueryLimits, tooManyBytes, tooManyRows } from "../sql/query-limits.ts";
import { measured, type StatementPool, type Timing } from "../timing.ts";
import type { compileJsonRows } from "./json-rows.ts";
import { type NearestSearch, searchNearest } from "./nearest-rows.ts";
import type { PageOf, PagePosition, RunOptions } from "./pages.ts";
import type { compileRows } from "./render-rows.ts";

/** Rows as JSON texts, joined by commas. */
export interface QueryAnswer {
  readonly count: number;
  readonly text: string;
  /** For a page: where the next one begins; null when there is none. */
  readonly next?: PagePosition | null;
  /** Single rows with their identities, if requested and available. */
  readonly rows?: readonly IdentifiedRow[];
}

export interface IdentifiedRow {
  readonly id: string;
  readonly text: string;
}

export interface CompiledPlan extends QueryPlan {
  readonly render: ReturnType<typeof compileRows>;
  readonly begin: ReturnType<typeof compileJsonRows>;
}

export interface Nearest extends NearestSearch {
  /** Requested rows among those; an offset skips the others. */
  readonly limit: number;
  /** The same statement without the index. */
  exact(): Statement;
}

export interface FinalRun {
  readonly query: string;
  readonly plan: CompiledPlan;
  readonly statement: Statement;
  /** Set when `statement` uses a vector index. */
  readonly nearest: Nearest | null;
  readonly args: QueryArguments;
  readonly signal: AbortSignal | undefined;
  readonly page: PageOf | undefined;
  readonly limits: QueryLimits;
  readonly sql: StatementPool;
  readonly timing: Timing | undefined;
  readonly udf: () => UdfRunner;
  readonly take_values: RunOptions["take_values"];
  /** Whether the result is empty because a table version has changed. */
  isUnseen(): Promise<boolean>;
}

/** Runs the last statement of a query; undefined when a table version has changed. */
export async function answerFinal(run: FinalRun): Promise<QueryAnswer | undefined> {
  const { query, plan, limits, sql } = run;
  const { final } = plan;
  if (final.graph === null && final.marks === 0 && run.take_values === undefined) {
    const rows = await findRows(run, async (one) => {
      const begun = plan.begin(limits.result_bytes);
      await searchNearest(sql, run.nearest, { ...one, take_row: begun.take_row, restart: begun.restart });
      return begun;
    });
    if (rows.count === 0 && (await run.isUnseen())) return undefined;
    if (rows.count > limits.result_rows) throw tooManyRows(query, limits);
    if (rows.is_full) throw tooManyBytes(query, limits);
    return { count: rows.count, text: rows.finish() };
  }
  const { rows } = await findRows(run, async (one) => {
    const result = await searchNearest(sql, run.nearest, one);
    return { rows: result.rows, count: result.rows.length };
  });
  if (rows.length === 0 && (await run.isUnseen())) return undefined;
  const shown = run.page === undefined ? rows : rows.slice(0, run.page.size);
  if (shown.length > limits.result_rows) throw tooManyRows(query, limits);
  const texts = await renderRows(run, final.graph, shown);
  const text = texts.join(",");
  if (text.length > limits.result_bytes) throw tooManyBytes(query, limits);
  const answer = { count: shown.length, text };
  if (run.page !== undefined) return { ...answer, next: nextPosition(run.page, plan, rows) };
  // Rows that Python filtered only have positions.
  if (final.marks === 0 || plan.materials.length > 0) return answer;
  return { ...answer, rows: shown.map((row, at) => ({ id: identityOf(row, final.marks), text: texts[at] ?? "" })) };
}

/** The rows of the statement. A filter may leave too few of the rows from a vector index; then all rows are
 *  compared. */
async function findRows<Found extends { readonly count: number }>(
  { statement, nearest }: FinalRun,
  read: (statement: Statement) => Promise<Found>,
): Promise<Found> {
  const found = await read(statement);
  return nearest === null || found.count >= nearest.limit ? found : read(nearest.exact());
}

/** Writes rows from PostgreSQL alone, each with its identity. */
export function answerRows({ final, render }: CompiledPlan, rows: SqlResult["rows"]): QueryAnswer {
  const texts = rows.map((row) => render(row));
  const answer = { count: rows.length, text: texts.join(",") };
  if (final.marks === 0) return answer;
  return { ...answer, rows: rows.map((row, at) => ({ id: identityOf(row, final.marks), text: texts[at] ?? "" })) };
}

/** Computes the Python values of the rows, and writes them. */
async function renderRows(run: FinalRun, graph: UdfGraph | null, sqlRows: SqlResult["rows"]): Promise<string[]> {
  const { final } = run.plan;
  const render = (row: SqlResult["rows"][number], steps: readonly EngineValue[] = []) => {
    run.take_values?.(valuesOf(final, row, steps));
    return run.plan.render(row, steps);
  };
  if (graph === null) return sqlRows.map((row) => render(row));
  const first = final.outputs.filter(({ from }) => "sql" in from).length;
  const inputs = bindInputs(graph, final.columns, run.args);
  const rows = decodeRows(final.columns, sqlRows, first).map(inputs);
  const computed = await measured(run.timing, "py", computeRows(run.udf(), graph, rows, run.signal), graph.functions);
  return sqlRows.map((row, at) => {
    const computedRow = computed[at];
    if (computedRow === undefined) throw new TypeError("Python returned fewer rows than it was given.");
    refuseErrors(run.query, graph, 0, computedRow, (step) => failedOutput(final, step, at + 1));
    return render(row, computedRow.values);
  });
}

/** The values of a row in the order of the outputs. */
function valuesOf(
  { outputs }: FinalStage,
  row: SqlResult["rows"][number],
  steps: readonly EngineValue[],
): EngineValue[] {
  return outputs.map(({ from, type }) => {
    if ("step" in from) return steps[from.step] ?? null;
    const text = row[from.sql] ?? null;
    return text === null ? null : fromSqlText(type, text);
  });
}

function nextPosition({ size, after }: PageOf, { final }: CompiledPlan, rows: SqlResult["rows"]): PagePosition | null {
  const last = rows[size - 1];
  if (last === undefined || rows.length <= size) return null;
  return { keys: last.slice(-final.marks), returned: (after?.returned ?? 0) + size };
}

/** A row that an outer join did not match has no identity. */
function identityOf(row: SqlResult["rows"][number], marks: number): string {
  const own = row.slice(-marks).map((mark) => mark ?? "");
  return marks === 1 ? own.join() : own.map(encodeURIComponent).join(",");
}

function failedOutput({ outputs }: FinalStage, step: number, row: number): FailedAt {
  const output = outputs.find(({ from }) => "step" in from && from.step === step);
  return output === undefined ? { clause: "select" } : { column: output.name, row };
}
