import { AppError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { ManifestFunction } from "@appdb/contract/manifest";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { guardOf } from "../catalog/guards.ts";
import { shownColumn } from "../catalog/hidden-columns.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { newShadows } from "../catalog/shadow-columns.ts";
import { shownNames } from "../catalog/sql-names.ts";
import { compileSql, type SqlSources } from "../expressions/compile-sql.ts";
import { keptValues } from "../jobs/fills/kept-values.ts";
import { createLazyRunner } from "../jobs/fills/run-rows.ts";
import type { JobDeps } from "../jobs/job-deps.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { type SampledRow, type SampleInput, sampleBatch } from "./compute-sample.ts";
import { factKey, type PlanFacts, type Recompute, type RowSample } from "./facts.ts";
import { type ColumnSources, sourcesOf } from "./sample-statement.ts";
import { columnsWithShadows, isComputable } from "./shadow-operations.ts";
import { columnsToCompute, tableAfter } from "./table-after.ts";

/** Sampled rows in a plan. */
const SHOWN = 5;
/** Additional rows for the estimate: few enough not to matter where a call costs money. */
const TIMED = 200;
/** Slower functions are not called for more than the shown rows. */
const QUICK_MS = 1_000;
/** Time limit of the shown rows; then they are shown incomplete. */
const LONGEST_MS = 10_000;
/** Time limit of the additional rows. Those that are done by then are enough for an estimate. */
const TIMED_MS = 1_000;
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
  const remade = remadeTables(catalog, operations);
  for (const before of catalog.tables) {
    if (remade.has(before.id)) continue;
    const own = operations.filter((operation) => operation.kind !== "create_table" && operation.table.id === before.id);
    const [first] = own;
    if (first === undefined || first.kind === "create_table" || before.has_rows === false) continue;
    const after = tableAfter(first.table, own);
    const columns = columnsToCompute(after, own);
    if (columns.length === 0) continue;
    const sources = sourcesOf(before, after, own);
    const known = { ...catalog, functions };
    const moved = movedBy(before, after, own);
    const scope = moved ?? rowsOfViews(before, after, columns, sources);
    const previews = await previewTable(
      deps,
      known,
      { before, after, sources, columns, functions, tables: catalog.tables, moved, scope },
      runtime_id,
      signal,
    );
    for (const [column, preview] of previews) found.set(factKey(before, column), preview);
  }
  return found;
}

/** Tables of iterator views whose rows an update makes again: the rows that they have now say nothing of the new ones. */
function remadeTables({ tables }: Catalog, operations: readonly SchemaOperation[]): ReadonlySet<number> {
  const remade = new Set<number>();
  for (let size = -1; size !== remade.size; ) {
    size = remade.size;
    for (const view of tables) {
      const base = tables.find(({ folder, name }) => folder === view.folder && name === view.rows_of?.table);
      if (base === undefined) continue;
      const own = operations.filter((one) => one.kind !== "create_table" && one.table.id === base.id);
      const [first] = own;
      const after = first === undefined || first.kind === "create_table" ? base : tableAfter(first.table, own);
      const maker = base.columns.find(({ name }) => name === view.rows_of?.column)?.id;
      const name = after.columns.find(({ id }) => id === maker)?.name ?? "";
      if (remade.has(base.id) || columnsToCompute(after, own).includes(name)) remade.add(view.id);
    }
  }
  return remade;
}

async function previewTable(
  deps: PreviewDeps,
  catalog: Catalog,
  input: SampleInput & { readonly moved: string | null },
  runtimeId: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Recompute>> {
  const rows = await countRows(deps.sql, input.before, input.moved ?? "true");
  const isOfMoved = input.scope === input.moved;
  const computed = isOfMoved ? rows : await countRows(deps.sql, input.before, input.scope);
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
    const first = await sampleBatch(sampler, input, { cursor: null, limit: SHOWN }, signal);
    let elapsed = deps.clock.now() - started;
    let timed = first.rows.length;
    sampled = first.rows;
    if (!first.is_complete) {
      note = `the functions took longer than ${LONGEST_MS / 1000} s for ${SHOWN} rows`;
    } else if (first.cursor !== null && elapsed < QUICK_MS + STARTING_MS) {
      started = deps.clock.now();
      const more = await sampleBatch(
        { ...sampler, wait_ms: TIMED_MS },
        input,
        { cursor: first.cursor, limit: TIMED },
        signal,
      );
      if (more.rows.length > 0) {
        elapsed = deps.clock.now() - started;
        timed = more.rows.length;
        sampled = [...first.rows, ...more.rows];
      }
    }
    if (timed > 0 && note === null)
      estimate = (computed * elapsed) / 1000 / timed + rows * WRITE_S * input.columns.length;
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    note = error.message;
  }
  const shown = shownNames(input.columns.map((name) => shownColumn(input.after, name)));
  const common = { rows, columns: shown, estimate_s: rounded(estimate), sampled: sampled.length, note };
  return new Map(input.columns.map((column) => [column, { ...common, samples: samplesOf(column, input, sampled) }]));
}

/** The start of a worker counts neither as quick nor as slow. */
const STARTING_MS = 3_000;

/** Failing rows come first, then changed values: these matter most to people. */
function samplesOf(name: string, { after }: SampleInput, rows: readonly SampledRow[]): readonly RowSample[] {
  const isOfView = memberOf(after.columns.find((column) => column.name === name)) !== null;
  const samples = rows.map(
    (row): RowSample => ({
      key: row.key,
      old: row.old.get(name) ?? null,
      new: row.errors.has(name) ? null : (row.new.get(name) ?? null),
      error: row.errors.get(name) ?? null,
    }),
  );
  const weightOf = ({ old, new: now, error }: RowSample): number => {
    if (error !== null) return 0;
    return JSON.stringify(old) === JSON.stringify(now) ? 2 : 1;
  };
  return samples
    .filter(({ old, new: now, error }) => !isOfView || old !== null || now !== null || error !== null)
    .sort((a, b) => weightOf(a) - weightOf(b))
    .slice(0, SHOWN);
}

/** The condition of a view's column; null for other columns. */
function memberOf(column: CatalogColumn | undefined): Expr | null {
  return column?.is_hidden === true && column.computed !== null ? guardOf(column.computed.expr).member : null;
}

/** SQL over `t` of the rows that are in the views whose columns are computed, before or after; of all rows for others. */
function rowsOfViews(
  before: CatalogTable,
  after: CatalogTable,
  columns: readonly string[],
  sources: ColumnSources,
): string {
  const conditions = new Set<string>();
  const add = (member: Expr | null, columnSql: SqlSources["columnSql"]): boolean => {
    const sql = member === null ? undefined : compileSql(member, { columnSql });
    if (sql !== undefined) conditions.add(`(${sql})`);
    return sql !== undefined;
  };
  for (const name of columns) {
    const column = after.columns.find((one) => one.name === name);
    const was = before.columns.find(({ id }) => id === column?.id);
    if (was !== undefined && !isComputable(was, before)) return "true";
    const isKnown = add(memberOf(column), (read) => (columns.includes(read.name) ? undefined : sources.get(read.name)));
    if (!isKnown || (was !== undefined && !add(memberOf(was), (read) => `t.${quoteIdent(read.name)}`))) return "true";
  }
  return [...conditions].join(" or ");
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

async function countRows(sql: SqlConnection, table: CatalogTable, scope: string): Promise<number> {
  const { rows } = await sql.query({ text: `select count(*) from ${quoteTable(table)} as t where ${scope}` });
  return Number(rows[0]?.[0]);
}
