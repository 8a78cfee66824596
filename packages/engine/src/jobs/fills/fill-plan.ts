import type { Catalog, CatalogColumn, CatalogFunction, CatalogTable } from "../../catalog/catalog.ts";
import { shadowedName } from "../../catalog/shadow-columns.ts";
import { undoTable } from "../../catalog/sql-names.ts";
import { planCompute, planPython, type SqlStep } from "../../compute/plan-compute.ts";
import { valuesRead } from "../../expressions/needs-python.ts";
import type { UdfGraph } from "../../ports.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import type { Job } from "../job-store.ts";
import { type RowScope, selectRows, type UndoShape, updateRows } from "./fill-statement.ts";
import { type KeptValue, keptValues } from "./kept-values.ts";

/** The computation of a batch: the graph in Python, then the SQL steps while the rows are written. */
export interface FillMode {
  readonly graph: UdfGraph | null;
  readonly steps: readonly SqlStep[];
  readonly select: string;
  readonly update: string;
}

/** The work of a job on a table, by the catalog at the start of the job. */
export interface Fill {
  readonly catalog_version: number;
  readonly table: CatalogTable;
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  readonly columns: readonly CatalogColumn[];
  readonly names: ReadonlySet<string>;
  readonly main: FillMode;
  /** For rows with a value that SQL refused: every column in Python. Null where SQL computes nothing. */
  readonly python: FillMode | null;
  /** Writes rows whose values are all known. */
  readonly updateInputs: string;
  readonly scope: RowScope | null;
  /** A failed cell stays null with its error; otherwise it ends the job. */
  readonly keeps_errors: boolean;
  /** Computed columns outside the job that its columns read. Their errors are passed on. */
  readonly outside: ReadonlySet<string>;
  /** Shadows that need no computation in some rows. */
  readonly kept: readonly KeptValue[];
  /** What one statement computes when it puts shadows in place. Null where batches compute all rows before. */
  readonly at_once: AtOnce | null;
  /** Columns whose previous values are kept while the job runs, and their table. */
  readonly undo: UndoShape | null;
}

/** Values that need no shadow: SQL computes all of them, for rows that enter or leave a view. */
export interface AtOnce {
  readonly steps: readonly SqlStep[];
  /** SQL over the row's own columns: a row of the job with an error or pending cell that concerns it. A batch computes its
   *  shadows. */
  readonly excluded: string;
}

export interface FillOptions {
  readonly in_batches?: boolean;
}

/** Undefined when the table or all of the columns are gone. `in_batches`: batches compute all rows. */
export function planFill(
  catalog: Catalog,
  job: Job,
  { in_batches: inBatches = false }: FillOptions = {},
): Fill | undefined {
  const table = catalog.tables.find((candidate) => candidate.id === job.table_id);
  const columns = table?.columns.filter((column) => job.column_ids.includes(column.id) && column.computed !== null);
  if (table === undefined || columns === undefined || columns.length === 0) return undefined;
  const names = columns.map((column) => column.name);
  const { kept, columns: leftOut, moved } = keptValues(table, columns);
  const computing = { ...table, columns: table.columns.map((one) => leftOut.find(({ id }) => id === one.id) ?? one) };
  const { graph, sql } = planCompute(computing, catalog.functions, names);
  const outside = outsideInputs(table, columns);
  const scope = scopeOf(job, table, names, moved);
  const excluded = rowsWithErrors(table, [...names, ...outside]);
  const atOnce = inBatches || graph !== null || scope?.kind !== "moved" ? null : { steps: sql, excluded };
  const inBatch: RowScope | null =
    atOnce === null || scope?.kind !== "moved"
      ? scope
      : { kind: "moved", condition: `(${scope.condition} and ${excluded})` };
  const undo = undoOf(job, columns);
  const common = { table, columns: names, kept, undo };
  const modeOf = (of: UdfGraph | null, steps: readonly SqlStep[]): FillMode => {
    const earlier = of?.steps ?? [];
    return {
      graph: of,
      steps,
      select: selectRows({ table, inputs: of?.inputs ?? [], scope: inBatch, has_errors: outside.size > 0 }),
      update: updateRows({ ...common, inputs: earlier, steps, reads: readByRest(columns, earlier) }),
    };
  };
  return {
    catalog_version: catalog.version,
    table,
    functions: catalog.functions,
    columns,
    names: new Set(names),
    main: modeOf(graph, sql),
    python: sql.length === 0 ? null : modeOf(planPython(computing, catalog.functions, names), []),
    updateInputs: updateRows({ ...common, inputs: columns, steps: [], reads: [] }),
    scope,
    keeps_errors: job.kind === "close_pending" || job.on_error === "ignore",
    outside,
    kept,
    at_once: atOnce,
    undo,
  };
}

/** SQL over a row: whether one of these columns, or the column of one of these shadows, has an error or is pending. */
function rowsWithErrors(table: CatalogTable, names: readonly string[]): string {
  const concerned = new Set(names.flatMap((name) => [name, shadowedName(table, name)]));
  return `(_errors ?| array[${[...concerned].map(quoteLiteral).join(", ")}]::text[])`;
}

function scopeOf(job: Job, table: CatalogTable, columns: readonly string[], moved: string | null): RowScope | null {
  if (job.kind === "close_pending") return { kind: "pending", columns };
  if (job.errors_only) return { kind: "errors", columns: columns.map((name) => shadowedName(table, name)) };
  return moved === null ? null : { kind: "moved", condition: moved };
}

/** A new column needs no undo log: it is dropped when the job fails. */
function undoOf(job: Job, columns: readonly CatalogColumn[]): UndoShape | null {
  if (job.kind === "close_pending" || job.on_error === "ignore") return null;
  const previous = columns.filter((column) => column.state === "ready");
  return previous.length === 0 ? null : { table: undoTable(job.id), columns: previous };
}

function outsideInputs(table: CatalogTable, columns: readonly CatalogColumn[]): ReadonlySet<string> {
  const own = new Set(columns.map((column) => column.name));
  const read = new Set(columns.flatMap(({ computed }) => (computed === null ? [] : valuesRead(computed.expr))));
  const computed = table.columns.filter((column) => column.computed !== null && !own.has(column.name));
  return new Set(computed.flatMap(({ name }) => (read.has(name) ? [name] : [])));
}

/** Stored columns that the SQL steps read. */
function readByRest(
  columns: readonly CatalogColumn[],
  earlier: readonly { readonly name: string }[],
): readonly string[] {
  const isGiven = new Set(earlier.map((step) => step.name));
  const computedNames = new Set(columns.map((column) => column.name));
  const rest = columns.filter((column) => !isGiven.has(column.name));
  const read = new Set(rest.flatMap(({ computed }) => (computed === null ? [] : valuesRead(computed.expr))));
  return [...read].filter((name) => !computedNames.has(name));
}
