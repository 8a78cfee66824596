import { appError } from "@appdb/contract/errors";
import { HOSTED_SCHEME } from "@appdb/contract/names";
import { displayType } from "@appdb/contract/types";
import { changedQueries } from "../bound-queries/column-queries.ts";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { isSameType } from "../catalog/compare.ts";
import { columnLabel, viewOfRows } from "../catalog/sql-names.ts";
import { computedClosure } from "../compute/plan-compute.ts";
import type { RowLayout } from "../compute/row-layout.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import { folderSchema } from "../target.ts";

/** The current table as seen by a service that started with the table of its layout. */
export interface TableVersion {
  readonly table_id: number;
  readonly version: number;
  readonly folder: string;
  readonly name: string;
  readonly has_key: boolean;
  /** Computed columns for which this service has no right value: new ones, changed ones, and their readers. */
  readonly pending: readonly PendingColumn[];
  /** Hidden columns that the service computes and the table no longer has, because an index changed. They are
   *  ignored. */
  readonly dropped: ReadonlySet<string>;
}

export interface PendingColumn {
  readonly name: string;
  readonly id: number;
  /** All columns that its current expression depends on. */
  readonly reads: ReadonlySet<string>;
}

export interface ServiceIdentity {
  readonly app_file: string;
  readonly target: string;
  /** Of writes of people, who have no service: called when these must be opened again. */
  readonly onStale?: (() => void) | undefined;
}

/** The step of people after tables have changed in their use: their writes are opened again. */
export const TRY_AGAIN = "Try again. The next request uses the tables as they are then.";

/**
 * Compares the table that the service knows with the current one. Additions do not affect the service: new stored
 * columns get their default or null, new computed columns are pending. A changed expression is pending too, with the
 * value of this service until the fill job recomputes it.
 * @throws schema_changed for a dropped table, a dropped or retyped column, or a new column that must not be null
 */
export function planTableVersion(layout: RowLayout, catalog: Catalog, service: ServiceIdentity): TableVersion {
  const known = layout.table;
  const current = catalog.tables.find((table) => table.id === known.id);
  if (current === undefined) {
    throw schemaChanged(service, `Table ${known.name} was dropped.`, { table: known.name });
  }
  const exists = (column: CatalogColumn) => current.columns.some((candidate) => candidate.id === column.id);
  const dropped = known.columns.filter((column) => column.is_hidden === true && !exists(column));
  const kept = known.columns.filter((column) => !dropped.includes(column));
  for (const column of kept) refuseChange(service, known, column, current);
  const read = new Set(kept.flatMap(({ computed }) => (computed === null ? [] : referencedColumns(computed.expr))));
  const lost = dropped.find(({ name }) => read.has(name));
  if (lost !== undefined) {
    const meta = { table: known.name, column: lost.name };
    throw schemaChanged(service, `Column ${columnLabel(known.name, lost.name)} was dropped.`, meta);
  }
  const knownIds = new Set(known.columns.map((column) => column.id));
  const added = current.columns.filter((column) => !knownIds.has(column.id));
  for (const column of added) {
    if (column.computed !== null || column.nullable || column.default != null) continue;
    throw schemaChanged(service, `Column ${known.name}.${column.name} was added and must not be null.`, {
      table: known.name,
      column: column.name,
    });
  }
  return {
    table_id: current.id,
    version: current.version,
    folder: current.folder,
    name: current.name,
    // A key that is the identity is generated here and new each time.
    has_key: current.primary_key.length > 0 && !isOwnKey(current),
    pending: pendingColumns(known, current, added),
    dropped: new Set(dropped.map((column) => column.name)),
  };
}

/** Makes the error that asks to update the service to the current tables; for people, to try again. */
export function schemaChanged(service: ServiceIdentity, what: string, meta: Record<string, unknown>): Error {
  if (service.onStale !== undefined) {
    service.onStale();
    const detail = `${what} The table was in use before that, so the request was refused.`;
    return appError("schema_changed", { detail, hint: TRY_AGAIN, meta });
  }
  const update = updateHint(service);
  return appError("schema_changed", {
    detail: `${what} The service was started before that and cannot write to the table.`,
    hint: `${update}${update.endsWith(".") ? "" : "."} If that breaks callers, it needs --allow-destructive.`,
    meta: { ...meta, folder: folderSchema(service.target) },
  });
}

/** The step from a service of earlier tables to the current ones. A hosted service is never one of `service run`. */
export function updateHint({ app_file: appFile, target }: ServiceIdentity): string {
  const update = `Update the service to the current tables: cli service update ${appFile} ${target}`;
  return target.startsWith(HOSTED_SCHEME)
    ? update
    : `${update}. If it runs in a terminal, start cli service run again.`;
}

function refuseChange(
  service: ServiceIdentity,
  known: CatalogTable,
  column: CatalogColumn,
  current: CatalogTable,
): void {
  const label = columnLabel(known.name, column.name);
  const meta = { table: known.name, column: column.name };
  const now = current.columns.find((candidate) => candidate.id === column.id);
  if (now === undefined) throw schemaChanged(service, `${label} was dropped.`, meta);
  if (now.name !== column.name)
    throw schemaChanged(service, `${label} was renamed to ${viewOfRows(now.name) ?? now.name}.`, meta);
  if (!isSameType(now.type, column.type)) {
    const types = `${displayType(column.type, column.nullable)} to ${displayType(now.type, now.nullable)}`;
    throw schemaChanged(service, `${label} was changed from ${types}.`, meta);
  }
  if ((now.computed === null) !== (column.computed === null)) {
    const kind = now.computed === null ? "stored" : "computed";
    throw schemaChanged(service, `${label} is now a ${kind} column.`, meta);
  }
}

function isOwnKey(table: CatalogTable): boolean {
  return table.primary_key.length === 1 && table.primary_key[0] === table.identity;
}

function pendingColumns(known: CatalogTable, current: CatalogTable, added: readonly CatalogColumn[]): PendingColumn[] {
  const stale = new Set(added.filter((column) => column.computed !== null).map((column) => column.name));
  for (const column of known.columns) {
    const now = current.columns.find((candidate) => candidate.id === column.id);
    if (canonical(now?.computed?.expr) !== canonical(column.computed?.expr)) stale.add(column.name);
    else if (asksAnother(now?.computed, column.computed)) stale.add(column.name);
  }
  // Readers of stale columns are stale. A reader may be listed before its source, so repeat until nothing is added.
  for (let before = -1; before !== stale.size; ) {
    before = stale.size;
    for (const { name, computed } of current.columns) {
      if (computed !== null && referencedColumns(computed.expr).some((read) => stale.has(read))) stale.add(name);
    }
  }
  return current.columns
    .filter((column) => stale.has(column.name))
    .map(({ name, id }) => ({ name, id, reads: allReads(current, name) }));
}

function allReads(table: CatalogTable, name: string): ReadonlySet<string> {
  const closure = computedClosure(table, [name]);
  const reads = table.columns.flatMap(({ name: of, computed }) =>
    computed === null || !closure.has(of) ? [] : referencedColumns(computed.expr),
  );
  return new Set(reads);
}

/** A catalog of an earlier version has no queries; then the service's queries count as equal. */
function asksAnother(now: CatalogColumn["computed"] | undefined, known: CatalogColumn["computed"]): boolean {
  if (now == null || known === null || now.queries === undefined) return false;
  return changedQueries(now, known).length > 0;
}

/** JSON text that does not depend on the order of object keys, which storage may change. */
function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
