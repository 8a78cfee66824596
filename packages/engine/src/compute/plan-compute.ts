import { createHash } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { GraphFunction, GraphStep } from "@appdb/contract/worker-protocol";
import type { CatalogColumn, CatalogFunction, CatalogTable } from "../catalog/catalog.ts";
import { columnPath } from "../catalog/sql-names.ts";
import { compileSql, ROW_COLUMNS } from "../expressions/compile-sql.ts";
import { cellErrorsRead, referencedColumns, udfsOf, valuesRead } from "../expressions/needs-python.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import { castToStorage } from "../kinds/storage-type.ts";
import type { UdfGraph } from "../ports.ts";
import { ERRORS_INPUT } from "./cell-errors.ts";

/** The computation of computed columns: first the graph in Python, then SQL over the row's stored columns. */
export interface ComputePlan {
  readonly graph: UdfGraph | null;
  /** In dependency order: each step reads stored columns, the graph's steps, and earlier steps. */
  readonly sql: readonly SqlStep[];
}

export interface SqlStep {
  readonly column: string;
  /** Reads the row's own quoted column names, unqualified; cast to the storage type. */
  readonly expression: string;
}

type ComputedColumn = CatalogColumn & { readonly computed: { readonly text: string; readonly expr: Expr } };

/**
 * Divides the computation of `columns` between Python and SQL. The columns that need Python, and those of `columns`
 * that they read, are steps of one graph; the rest is SQL. Computed columns outside `columns` are read as stored.
 * `checked`: media columns whose given files the graph decodes first. An unstored column is always computed in Python,
 * because no statement writes it.
 * @throws schema_mismatch when an expression names a function that `functions` lacks
 */
export function planCompute(
  table: CatalogTable,
  functions: ReadonlyMap<string, CatalogFunction>,
  columns: readonly string[],
  checked: readonly string[] = [],
): ComputePlan {
  const ordered = inDependencyOrder(table, columns);
  const sqlOf = new Map<string, string>();
  for (const column of ordered) {
    if (column.is_unstored === true) continue;
    const sql = compileSql(column.computed.expr, ROW_COLUMNS);
    if (sql !== undefined) sqlOf.set(column.name, castToStorage(sql, column.type));
  }
  const python = withReads(ordered, (column) => !sqlOf.has(column.name));
  const steps = ordered.filter((column) => python.has(column.name));
  return {
    graph: steps.length + checked.length === 0 ? null : buildGraph(table, functions, steps, checked),
    sql: ordered.flatMap((column) => {
      const expression = sqlOf.get(column.name);
      return python.has(column.name) || expression === undefined ? [] : [{ column: column.name, expression }];
    }),
  };
}

/**
 * Plans the graph that computes all of `columns` in Python, for rows with a value that SQL refused. Null for no
 * columns. `checked` as for planCompute.
 * @throws schema_mismatch when an expression names a function that `functions` lacks
 */
export function planPython(
  table: CatalogTable,
  functions: ReadonlyMap<string, CatalogFunction>,
  columns: readonly string[],
  checked: readonly string[] = [],
): UdfGraph | null {
  const ordered = inDependencyOrder(table, columns);
  return ordered.length + checked.length === 0 ? null : buildGraph(table, functions, ordered, checked);
}

/** The names among `columns` (computed ones of the table) that `requested` depends on, including `requested` itself. */
export function computedClosure(table: CatalogTable, requested: Iterable<string>): Set<string> {
  const byName = computedByName(table);
  const found = new Set<string>();
  const visit = (name: string): void => {
    const column = byName.get(name);
    if (column === undefined || found.has(name)) return;
    found.add(name);
    for (const read of referencedColumns(column.computed.expr)) visit(read);
  };
  for (const name of requested) visit(name);
  return found;
}

function computedByName(table: CatalogTable): Map<string, ComputedColumn> {
  const byName = new Map<string, ComputedColumn>();
  for (const column of table.columns) {
    if (column.computed !== null) byName.set(column.name, { ...column, computed: column.computed });
  }
  return byName;
}

/** Columns added by updates break the declared order, so the graph is walked. */
function inDependencyOrder(table: CatalogTable, columns: readonly string[]): ComputedColumn[] {
  const byName = computedByName(table);
  const requested = new Set(columns);
  const ordered: ComputedColumn[] = [];
  const visited = new Set<string>();
  const visit = (name: string): void => {
    const column = byName.get(name);
    if (column === undefined || !requested.has(name) || visited.has(name)) return;
    visited.add(name);
    for (const read of referencedColumns(column.computed.expr)) visit(read);
    ordered.push(column);
  };
  for (const name of columns) visit(name);
  return ordered;
}

/** `ordered` is in dependency order, so one walk from its end meets every reader before its sources. */
function withReads(ordered: readonly ComputedColumn[], isPython: (column: ComputedColumn) => boolean): Set<string> {
  const python = new Set<string>();
  for (const column of [...ordered].reverse()) {
    if (isPython(column)) python.add(column.name);
    if (!python.has(column.name)) continue;
    for (const read of referencedColumns(column.computed.expr)) {
      if (ordered.some((other) => other.name === read)) python.add(read);
    }
  }
  return python;
}

function buildGraph(
  table: CatalogTable,
  functions: ReadonlyMap<string, CatalogFunction>,
  columns: readonly ComputedColumn[],
  checked: readonly string[],
): UdfGraph {
  const computing: GraphStep[] = columns.map(({ name, type, nullable, computed }) => ({
    name,
    type,
    nullable,
    expr: computed.expr,
  }));
  const stepNames = new Set(computing.map((step) => step.name));
  const steps = [...table.columns.filter(({ name }) => checked.includes(name)).map(checkStep), ...computing];
  const reads = new Set([...checked, ...columns.flatMap((column) => valuesRead(column.computed.expr))]);
  const inputs: UdfGraph["inputs"][number][] = table.columns
    .filter((column) => reads.has(column.name) && !stepNames.has(column.name))
    // A computed column may hold null after an error, whatever its type says.
    .map(({ name, type, nullable, computed }) => ({ name, type, nullable: nullable || computed !== null }));
  // The graph knows its own steps' errors at run time; those of other columns are stored with the row.
  const errorsRead = columns.flatMap((column) => cellErrorsRead(column.computed.expr));
  if (errorsRead.some((name) => !stepNames.has(name))) {
    inputs.push({ name: ERRORS_INPUT, type: JSON_TYPE, nullable: true });
  }
  const used = functionsOf(table, functions, columns);
  const key = createHash("sha256")
    .update(JSON.stringify([inputs, steps, used]))
    .digest("hex");
  return { key, inputs, steps, functions: used };
}

/** The worker's function that decodes a given file. Manifests cannot name it. */
export const CHECK_MEDIA = "op.check_media";

/** A step that decodes the file of a media column or parameter and replaces its value, so that later steps read the decoded file. */
export function checkStep({ name, type, nullable }: Pick<CatalogColumn, "name" | "type" | "nullable">): GraphStep {
  const column: Expr = { node: "column", name, type, nullable };
  return { name, type, nullable, expr: { node: "call", fn: CHECK_MEDIA, args: [column], kwargs: {}, type, nullable } };
}

/** The functions that columns call. @throws schema_mismatch for one that `functions` lacks */
export function functionsOf(
  table: Pick<CatalogTable, "name">,
  functions: ReadonlyMap<string, CatalogFunction>,
  columns: readonly { readonly name: string; readonly computed: { readonly expr: Expr } }[],
): GraphFunction[] {
  const used = new Map<string, GraphFunction>();
  for (const column of columns) {
    for (const id of udfsOf(column.computed.expr)) {
      const known = functions.get(id);
      if (known === undefined) {
        throw appError("schema_mismatch", {
          detail: `Column ${columnPath(table.name, column.name)} calls ${id}, which the application does not declare.`,
          hint: "Update the tables: cli schema update <app file> <target>",
          meta: { table: table.name, column: column.name, function: id },
        });
      }
      used.set(id, { id, module: known.module, name: known.name });
    }
  }
  return [...used.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}
