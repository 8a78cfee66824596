import type { EngineValue } from "@appdb/contract/types";
import { type CellErrors, isOfApplication, ownErrors, spreadErrors } from "../compute/cell-errors.ts";
import { planPython } from "../compute/plan-compute.ts";
import type { UdfError, UdfGraph, UdfResult } from "../ports.ts";
import { type FillContext, RowFailed } from "./fill-context.ts";
import type { Fill, FillMode } from "./fill-plan.ts";
import { selectRows } from "./fill-statement.ts";
import { readRows, type StoredRow, startRows } from "./run-rows.ts";

/** A row with what is to be written of it. */
export interface ReadyRow {
  readonly id: string;
  readonly xmin: string;
  /** The values of all columns of the job (`is_whole`), else those of the mode's graph: SQL computes the others. */
  readonly values: readonly EngineValue[];
  readonly is_whole: boolean;
  /** Errors of the job's columns; null for none. */
  readonly errors: CellErrors | null;
}

const LOOK_MS = 1_000;

/**
 * Decides what is written of rows. A cell that reads a failed one has no value either, which SQL cannot know: such a row
 * gets all its values from here, and what it still lacks is computed in Python.
 * @throws RowFailed when a cell fails and the job may not keep its error
 */
export async function resolveRows(
  context: FillContext,
  mode: FillMode,
  rows: readonly StoredRow[],
  results: readonly UdfResult[],
): Promise<readonly ReadyRow[]> {
  const { fill } = context;
  const steps = mode.steps.map((step) => step.column);
  const ready: ReadyRow[] = [];
  const rest: RestRow[] = [];
  for (const [at, row] of rows.entries()) {
    const result = results[at];
    const found = result?.errors ?? null;
    if (found !== null) refuseFailure(fill, context.job.kind, row, found);
    const values = result?.values ?? [];
    if (found === null && row.failed === null) {
      ready.push({ id: row.id, xmin: row.xmin, values, is_whole: false, errors: null });
      continue;
    }
    const errors = errorsOf(fill, row, found);
    const hasReaders = row.failed !== null || steps.some((name) => errors[name] !== undefined);
    if (hasReaders) rest.push({ row, known: knownValues(mode, result, errors), errors });
    else ready.push({ id: row.id, xmin: row.xmin, values, is_whole: false, errors: orNull(errors) });
  }
  return rest.length === 0 ? ready : [...ready, ...(await completeRows(context, rest))];
}

/** A row of which SQL may not compute the rest. */
interface RestRow {
  readonly row: StoredRow;
  readonly known: ReadonlyMap<string, EngineValue>;
  readonly errors: CellErrors;
}

/** An error of the application itself would be in every row: it ends the job whatever becomes of failing cells. */
function refuseFailure(fill: Fill, kind: string, row: StoredRow, errors: Readonly<Record<string, UdfError>>): void {
  if (fill.keeps_errors && (kind === "close_pending" || !isOfApplication(errors))) return;
  const entries = Object.entries(errors);
  const [column, error] = entries.find(([, candidate]) => candidate.kind !== "skipped") ?? entries[0] ?? [];
  if (column === undefined || error === undefined) throw new TypeError("A failed row came without an error.");
  throw new RowFailed(row.id, column, error);
}

function errorsOf(fill: Fill, row: StoredRow, found: Readonly<Record<string, UdfError>> | null): CellErrors {
  const all = spreadErrors(fill.table, fill.names, { ...row.failed, ...(found === null ? {} : ownErrors(found)) });
  return Object.fromEntries(Object.entries(all).filter(([name]) => fill.names.has(name)));
}

function knownValues(
  mode: FillMode,
  result: UdfResult | undefined,
  errors: CellErrors,
): ReadonlyMap<string, EngineValue> {
  const known = new Map<string, EngineValue>(Object.keys(errors).map((name) => [name, null]));
  if (result === undefined || mode.graph === null) return known;
  for (const [at, step] of mode.graph.steps.entries()) {
    if (!known.has(step.name)) known.set(step.name, result.values[at] ?? null);
  }
  return known;
}

/** Computes the columns that rows still lack in Python, rows that lack the same together. */
async function completeRows(context: FillContext, rows: readonly RestRow[]): Promise<readonly ReadyRow[]> {
  const { fill } = context;
  const groups = new Map<string, { lacking: readonly string[]; rows: RestRow[] }>();
  for (const rest of rows) {
    const lacking = [...fill.names].filter((name) => !rest.known.has(name));
    const group = groups.get(lacking.join()) ?? { lacking, rows: [] };
    group.rows.push(rest);
    groups.set(lacking.join(), group);
  }
  const ready: ReadyRow[] = [];
  for (const group of groups.values()) {
    const graph = planPython(fill.table, fill.functions, group.lacking);
    const results = graph === null ? [] : await runRest(context, graph, group.rows);
    for (const [at, rest] of group.rows.entries()) ready.push(wholeRow(context, rest, graph, results[at]));
  }
  return ready;
}

/** Inputs that this job makes itself are known from the row; the others are read as they are stored. */
async function runRest(
  { deps, fill, runner, signal }: FillContext,
  graph: UdfGraph,
  rows: readonly RestRow[],
): Promise<readonly UdfResult[]> {
  const text = selectRows({ table: fill.table, inputs: graph.inputs, scope: null, has_errors: false });
  const ids = rows.map(({ row }) => row.id);
  const read = readRows(await deps.sql.query({ text, values: [null, ids.length, ids] }), graph.inputs, new Set());
  const stored = new Map(read.map((row) => [row.id, row.inputs]));
  const inputs = rows.map(({ row, known }): StoredRow => {
    const own = stored.get(row.id) ?? [];
    return { ...row, inputs: graph.inputs.map(({ name }, at) => known.get(name) ?? own[at] ?? null) };
  });
  const run = startRows(await runner.forGraph(graph), graph, inputs);
  while (run.ready < rows.length) await run.wait(LOOK_MS, signal);
  return rows.map((_, at) => run.result(at));
}

function wholeRow(
  { fill, job }: FillContext,
  { row, known, errors }: RestRow,
  graph: UdfGraph | null,
  result: UdfResult | undefined,
): ReadyRow {
  const found = result?.errors ?? null;
  if (found !== null) refuseFailure(fill, job.kind, row, found);
  const all = new Map(known);
  for (const [at, step] of (graph?.steps ?? []).entries()) all.set(step.name, result?.values[at] ?? null);
  const own = found === null ? errors : { ...errors, ...errorsOf(fill, row, found) };
  const values = fill.columns.map((column) => all.get(column.name) ?? null);
  return { id: row.id, xmin: row.xmin, values, is_whole: true, errors: orNull(own) };
}

function orNull(errors: CellErrors): CellErrors | null {
  return Object.keys(errors).length === 0 ? null : errors;
}
