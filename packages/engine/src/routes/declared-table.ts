import type { Manifest } from "@appdb/contract/manifest";
import { computedWithQueries } from "../bound-queries/column-queries.ts";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { nameHidden } from "../catalog/hidden-columns.ts";
import { shadowsOfRetyping } from "../catalog/shadow-columns.ts";
import { folderSchema } from "../target.ts";

/**
 * A table as the application declares it, with the ids from the catalog. Columns that a later update added are not part
 * of it. Columns that a job gives another type are as in the catalog. The table must exist; checkTables has checked every
 * table of the manifest.
 */
export function declaredTable(
  { manifest, target }: { readonly manifest: Manifest; readonly target: string },
  catalog: Catalog,
  name: string,
): CatalogTable {
  const folder = folderSchema(target);
  const table = catalog.tables.find((candidate) => candidate.folder === folder && candidate.name === name);
  if (table === undefined) throw new TypeError(`The catalog has no table ${name}.`);
  const declared = manifest.tables.find((candidate) => candidate.name === name);
  const named = declared === undefined ? [] : nameHidden(table, declared).columns;
  const waiting = shadowsOfRetyping(table).map(({ column }) => column);
  const columns = named.flatMap((column): CatalogColumn[] => {
    const stored = table.columns.find((candidate) => candidate.name === column.name);
    // The vector index may have changed since. A job computes its values, not the writer of rows.
    if (stored === undefined && column.is_hidden === true) return [];
    if (stored === undefined) throw new TypeError(`The catalog has no column ${name}.${column.name}.`);
    if (waiting.includes(stored)) return [stored];
    return [
      {
        ...stored,
        nullable: column.nullable,
        computed: computedWithQueries(manifest, column),
        default: column.default,
      },
    ];
  });
  const undeclared = waiting.filter(({ name: one }) => columns.every((column) => column.name !== one));
  return { ...table, columns: [...columns, ...undeclared] };
}

/** The columns that the application declares for a table without storing them. No catalog knows them. */
export function unstoredColumns({ manifest }: { readonly manifest: Manifest }, name: string): readonly CatalogColumn[] {
  const declared = manifest.tables.find((candidate) => candidate.name === name)?.unstored ?? [];
  return declared.map((column, at) => ({
    ...column,
    id: -1 - at,
    computed: computedWithQueries(manifest, column),
    state: "ready",
    is_unstored: true,
  }));
}
