import type { EngineValue } from "@appdb/contract/types";
import { type CellErrors, isOfApplication, ownErrors, spreadErrors } from "../../compute/cell-errors.ts";
import { planPython } from "../../compute/plan-compute.ts";
import type { UdfError, UdfGraph } from "../../ports.ts";
import { type FillContext, RowFailed } from "./fill-context.ts";
import type { Fill, FillMode } from "./fill-plan.ts";
import { selectRows } from "./fill-statement.ts";
import { NO_RESULTS, type RowResults, readStoredRows, runAll, type StoredRows } from "./run-rows.ts";

/** Rows with the values to write, column by column. */
export interface ReadyRows {
  readonly ids: readonly string[];
  readonly rowVersions: readonly string[];
  /** The values of all columns of the job (`is_whole`), else those of the mode's graph; SQL computes the others. */
  readonly columns: readonly (readonly EngineValue[])[];
  readonly is_whole: boolean;
  /** Errors of the job's columns, by row index. */
  readonly errors: ReadonlyMap<number, CellErrors>;
}

/**
 * Decides what to write. A cell that reads a failed one has no value either, which SQL cannot know. Such a row gets all
 * its values from here; Python computes the missing ones.
 * @throws RowFailed when a cell fails and the job must not keep its error
 */
export async function resolveRows(
  context: FillContext,
  mode: FillMode,
  rows: StoredRows,
  results: RowResults,
): Promise<readonly ReadyRows[]> {
  const { fill } = context;
  const { ids, rowVersions } = rows;
  const { columns } = results;
  const errors = new Map<number, CellErrors>();
  const rest = new Map<number, RestRow>();
  for (const at of [...new Set([...results.errors.keys(), ...rows.failed.keys()])].sort((a, b) => a - b)) {
    const found = results.errors.get(at) ?? null;
    const failed = rows.failed.get(at) ?? null;
    const id = ids[at] ?? "";
    if (found !== null) refuseFailure(fill, context.job.kind, id, found);
    const own = errorsOf(fill, failed, found);
    const hasReaders = failed !== null || mode.steps.some((step) => own[step.column] !== undefined);
    if (hasReaders) {
      const known = knownValues(mode, results, at, own);
      rest.set(at, { id, xmin: rowVersions[at] ?? "", failed, known, errors: own });
    } else if (Object.keys(own).length > 0) errors.set(at, own);
  }
  const ready: ReadyRows = { ids, rowVersions, columns, is_whole: false, errors };
  if (rest.size === 0) return [ready];
  return [withoutRows(ready, (_, at) => rest.has(at)), await completeRows(context, [...rest.values()])];
}

/** The rows without those that `isExcluded` selects, by identity and index. */
export function withoutRows(rows: ReadyRows, isExcluded: (id: string, at: number) => boolean): ReadyRows {
  const indexes = rows.ids.flatMap((id, at) => (isExcluded(id, at) ? [] : [at]));
  const pick = <T>(values: readonly T[]): T[] => indexes.map((at) => values[at] as T);
  const errors = new Map<number, CellErrors>();
  for (const [index, at] of indexes.entries()) {
    const own = rows.errors.get(at);
    if (own !== undefined) errors.set(index, own);
  }
  return { ...rows, ids: pick(rows.ids), rowVersions: pick(rows.rowVersions), columns: rows.columns.map(pick), errors };
}

/** A row whose remaining columns SQL cannot compute. */
interface RestRow {
  readonly id: string;
  readonly xmin: string;
  readonly failed: CellErrors | null;
  readonly known: ReadonlyMap<string, EngineValue>;
  readonly errors: CellErrors;
}

/** An error of the application itself would affect every row. It ends the job regardless of `on_error`. */
function refuseFailure(fill: Fill, kind: string, id: string, errors: Readonly<Record<string, UdfError>>): void {
  if (fill.keeps_errors && (kind === "close_pending" || !isOfApplication(errors))) return;
  const entries = Object.entries(errors);
  const [column, error] = entries.find(([, candidate]) => candidate.kind !== "skipped") ?? entries[0] ?? [];
  if (column === undefined || error === undefined) throw new TypeError("A failed row came without an error.");
  throw new RowFailed(id, column, error);
}

function errorsOf(fill: Fill, failed: CellErrors | null, found: Readonly<Record<string, UdfError>> | null): CellErrors {
  const all = spreadErrors(fill.table, fill.names, { ...failed, ...(found === null ? {} : ownErrors(found)) });
  return Object.fromEntries(Object.entries(all).filter(([name]) => fill.names.has(name)));
}

function knownValues(
  mode: FillMode,
  results: RowResults,
  at: number,
  errors: CellErrors,
): ReadonlyMap<string, EngineValue> {
  const known = new Map<string, EngineValue>(Object.keys(errors).map((name) => [name, null]));
  for (const [which, step] of (mode.graph?.steps ?? []).entries()) {
    if (!known.has(step.name)) known.set(step.name, results.columns[which]?.[at] ?? null);
  }
  return known;
}

/** Computes the missing columns of rows in Python, grouped by the set of missing columns. */
async function completeRows(context: FillContext, rows: readonly RestRow[]): Promise<ReadyRows> {
  const { fill } = context;
  const groups = new Map<string, { missing: readonly string[]; rows: RestRow[] }>();
  for (const rest of rows) {
    const missing = [...fill.names].filter((name) => !rest.known.has(name));
    const group = groups.get(missing.join()) ?? { missing, rows: [] };
    group.rows.push(rest);
    groups.set(missing.join(), group);
  }
  const done: { row: RestRow; values: readonly EngineValue[]; errors: CellErrors }[] = [];
  for (const group of groups.values()) {
    const graph = planPython(fill.table, fill.functions, group.missing);
    const results = graph === null ? NO_RESULTS : await computeRest(context, graph, group.rows);
    for (const [at, row] of group.rows.entries()) done.push({ row, ...wholeRow(context, row, graph, results, at) });
  }
  const errors = done.flatMap((row, at) => (Object.keys(row.errors).length === 0 ? [] : [[at, row.errors] as const]));
  return {
    ids: done.map(({ row }) => row.id),
    rowVersions: done.map(({ row }) => row.xmin),
    columns: fill.columns.map((_, which) => done.map(({ values }) => values[which] ?? null)),
    is_whole: true,
    errors: new Map(errors),
  };
}

/** Inputs that this job makes itself come from the row; the others are read as stored. */
async function computeRest(context: FillContext, graph: UdfGraph, rows: readonly RestRow[]): Promise<RowResults> {
  const { deps, fill } = context;
  const text = selectRows({ table: fill.table, inputs: graph.inputs, scope: null, has_errors: false });
  const ids = rows.map((row) => row.id);
  const stored = readStoredRows(
    await deps.sql.query({ text, values: [null, ids.length, ids] }),
    graph.inputs,
    new Set(),
  );
  const indexById = new Map(stored.ids.map((id, at) => [id, at]));
  const inputs = graph.inputs.map(({ name }, which) => {
    return rows.map(({ id, known }) => known.get(name) ?? stored.inputs[which]?.[indexById.get(id) ?? -1] ?? null);
  });
  return runAll(context, graph, { ids, inputs });
}

function wholeRow(
  { fill, job }: FillContext,
  { id, failed, known, errors }: RestRow,
  graph: UdfGraph | null,
  results: RowResults,
  at: number,
): { values: readonly EngineValue[]; errors: CellErrors } {
  const found = results.errors.get(at) ?? null;
  if (found !== null) refuseFailure(fill, job.kind, id, found);
  const all = new Map(known);
  for (const [which, step] of (graph?.steps ?? []).entries()) {
    all.set(step.name, results.columns[which]?.[at] ?? null);
  }
  const own = found === null ? errors : { ...errors, ...errorsOf(fill, failed, found) };
  return { values: fill.columns.map((column) => all.get(column.name) ?? null), errors: own };
}
