import { AppError } from "@appdb/contract/errors";
import type { ManifestFunction } from "@appdb/contract/manifest";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { newShadows } from "../catalog/shadow-columns.ts";
import type { JobDeps } from "../jobs/job-deps.ts";
import { keptValues } from "../jobs/kept-values.ts";
import { createLazyRunner } from "../jobs/run-rows.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { type SampledRow, type SampleInput, sampleBatch } from "./compute-sample.ts";
import { factKey, type PlanFacts, type Recompute, type RowSample } from "./facts.ts";
import { sourcesOf } from "./sample-statement.ts";
import { columnsWithShadows } from "./shadow-operations.ts";
import { columnsToCompute, tableAfter } from "./table-after.ts";

/** Sampled rows in a plan. */
const SHOWN = 5;
/** Additional rows for the estimate: few enough not to matter where a call costs money. */
const TIMED = 200;
/** Slower functions are not called for more than the shown rows. */
const QUICK_MS = 1_000;
/** Time limit of a sample; then it is shown incomplete. */
const LONGEST_MS = 10_000;
/** Time to store a row in addition to computing it, measured with five columns and an undo log. */
const WRITE_S = 0.000_03;

export type PreviewDeps = Omit<JobDeps, "owner">;

/**
 * Reports every table with columns that an update would compute for existing rows: the number of rows, the estimated
 * time, and old and new values of five rows. It computes some rows in the application's Python and stores nothing.
 */
export async function previewRecomputes(
  deps: PreviewDeps,
  input: {
    readonly catalog: Catalog;
    readonly functions: readonly ManifestFunction[];
    readonly operations: readonly SchemaOperation[];
    readonly runtime_id: string;
  },
  signal: AbortSignal,
): Promise<PlanFacts["recomputes"]> {
  const { catalog, operations, runtime_id } = input;
  const functions = new Map([...catalog.functions, ...input.functions.map((fn) => [fn.id, fn] as const)]);
  const found = new Map<string, Recompute>();
  for (const before of catalog.tables) {
    const own = operations.filter((operation) => operation.kind !== "create_table" && operation.table.id === before.id);
    const [first] = own;
    if (first === undefined || first.kind === "create_table" || before.has_rows === false) continue;
    const after = tableAfter(first.table, own);
    const columns = columnsToCompute(after, own);
    if (columns.length === 0) continue;
    const sources = sourcesOf(before, after, own);
    const known = { ...catalog, functions };
    const previews = await previewTable(
      deps,
      known,
      { before, after, sources, columns, functions, moved: movedBy(before, after, own) },
      runtime_id,
      signal,
    );
    for (const [column, preview] of previews) found.set(factKey(before, column), preview);
  }
  return found;
}

async function previewTable(
  deps: PreviewDeps,
  catalog: Catalog,
  input: SampleInput & { readonly moved: string | null },
  runtimeId: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Recompute>> {
  const rows = await countRows(deps.sql, input.before, input.moved);
  await using runner = createLazyRunner(
    { ...deps, owner: "preview" },
    { catalog, folder: input.before.folder, columns: input.after.columns },
    runtimeId,
  );
  const sampler = { sql: deps.sql, runner, wait_ms: LONGEST_MS };
  let note: string | null = null;
  let estimate: number | null = null;
  let sampled: readonly SampledRow[] = [];
  try {
    let started = deps.clock.now();
    const shown = await sampleBatch(sampler, input, { cursor: null, limit: SHOWN }, signal);
    let elapsed = deps.clock.now() - started;
    let timed = shown.rows.length;
    sampled = shown.rows;
    if (!shown.is_complete) {
      note = `the functions took longer than ${LONGEST_MS / 1000} s for ${SHOWN} rows`;
    } else if (shown.cursor !== null && elapsed < QUICK_MS + STARTING_MS) {
      started = deps.clock.now();
      const more = await sampleBatch(sampler, input, { cursor: shown.cursor, limit: TIMED }, signal);
      if (more.rows.length > 0) {
        elapsed = deps.clock.now() - started;
        timed = more.rows.length;
        sampled = [...shown.rows, ...more.rows];
      }
    }
    if (timed > 0 && note === null) estimate = rows * (elapsed / 1000 / timed + WRITE_S * input.columns.length);
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    note = error.message;
  }
  const common = { rows, columns: input.columns, estimate_s: rounded(estimate), sampled: sampled.length, note };
  return new Map(input.columns.map((column) => [column, { ...common, samples: samplesOf(column, sampled) }]));
}

/** The start of a worker counts neither as quick nor as slow. */
const STARTING_MS = 3_000;

/** Failing rows come first, then changed values: these matter most to people. */
function samplesOf(column: string, rows: readonly SampledRow[]): readonly RowSample[] {
  const samples = rows.map(
    (row): RowSample => ({
      key: row.key,
      old: row.old.get(column) ?? null,
      new: row.errors.has(column) ? null : (row.new.get(column) ?? null),
      error: row.errors.get(column) ?? null,
    }),
  );
  const weightOf = ({ old, new: now, error }: RowSample): number => {
    if (error !== null) return 0;
    return JSON.stringify(old) === JSON.stringify(now) ? 2 : 1;
  };
  return samples.sort((a, b) => weightOf(a) - weightOf(b)).slice(0, SHOWN);
}

function rounded(seconds: number | null): number | null {
  return seconds === null ? null : Number(seconds.toPrecision(2));
}

/** SQL of the rows that enter or leave views, if an update computes no others. */
function movedBy(before: CatalogTable, after: CatalogTable, operations: readonly SchemaOperation[]): string | null {
  const isRenamed = operations.some(({ kind }) => kind === "rename_table" || kind === "rename_column");
  const computed = columnsToCompute(after, operations);
  const shadowed = columnsWithShadows(before, operations);
  if (isRenamed || computed.some((name) => !shadowed.has(name))) return null;
  const shadows = newShadows(after, shadowed).map(({ shadow }) => shadow);
  return keptValues({ ...before, columns: [...before.columns, ...shadows] }, shadows).moved;
}

async function countRows(sql: SqlConnection, table: CatalogTable, moved: string | null): Promise<number> {
  const { rows } = await sql.query({ text: `select count(*) from ${quoteTable(table)} where ${moved ?? "true"}` });
  return Number(rows[0]?.[0]);
}
