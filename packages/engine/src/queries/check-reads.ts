import { appError } from "@appdb/contract/errors";
import { displayType } from "@appdb/contract/types";
import type { BoundTable } from "../bound-queries/bind-query.ts";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { columnLabel } from "../catalog/sql-names.ts";
import { folderSchema } from "../target.ts";
import { type ServiceIdentity, schemaChanged, updateHint } from "../write/table-version.ts";

/**
 * Compares the columns that a query reads with the current table, and returns that table. Other columns do not matter.
 * @throws schema_changed for a dropped table, and for a column that was dropped, renamed or retyped
 */
export function checkReads(known: BoundTable, catalog: Catalog, service: ServiceIdentity | null): CatalogTable {
  const { table } = known;
  const now = catalog.tables.find((candidate) => candidate.id === table.id);
  const refuse = (what: string, column?: string) => {
    const meta = { table: table.name, ...(column === undefined ? {} : { column }) };
    if (service === null) {
      throw appError("schema_changed", {
        detail: `${what} A query of a computed column reads it.`,
        hint: "Update the tables by the file that declares the query: cli schema update <app file> <target>",
        meta,
      });
    }
    if (service.onStale !== undefined) throw schemaChanged(service, what, meta);
    throw appError("schema_changed", {
      detail: `${what} The service was started before that and cannot answer this query.`,
      hint: updateHint(service),
      meta: { ...meta, folder: folderSchema(service.target) },
    });
  };
  if (now === undefined) throw refuse(`Table ${table.name} was dropped.`);
  if (now.name !== table.name) refuse(`Table ${table.name} was renamed to ${now.name}.`);
  for (const name of known.reads) {
    const column = table.columns.find((candidate) => candidate.name === name);
    // The identity of a row, which queries over iterator views read, need not be a declared column.
    if (column === undefined && name === table.identity && name === now.identity) continue;
    const current = now.columns.find((candidate) => candidate.id === column?.id);
    const label = columnLabel(table.name, name);
    if (column === undefined || current === undefined) throw refuse(`${label} was dropped.`, name);
    if (current.name !== name) refuse(`${label} was renamed to ${current.name}.`, name);
    if (JSON.stringify(current.type) !== JSON.stringify(column.type)) {
      const types = `${displayType(column.type, column.nullable)} to ${displayType(current.type, current.nullable)}`;
      refuse(`${label} was changed from ${types}.`, name);
    }
  }
  return now;
}
