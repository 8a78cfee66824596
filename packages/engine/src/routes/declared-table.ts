import type { Manifest } from "@appdb/contract/manifest";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { computedWithQueries } from "../catalog/column-queries.ts";
import { nameHidden } from "../catalog/hidden-columns.ts";
import { folderSchema } from "../target.ts";

/**
 * A table as the application declares it, with the ids that it has in the catalog: what an update has added since is not
 * this application's to compute or to read. The table must be there: checkTables has seen every table of the manifest.
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
  const columns = named.flatMap((column): CatalogColumn[] => {
    const stored = table.columns.find((candidate) => candidate.name === column.name);
    // An index of vectors may be another one by now; who writes rows leaves that to a job.
    if (stored === undefined && column.is_hidden === true) return [];
    if (stored === undefined) throw new TypeError(`The catalog has no column ${name}.${column.name}.`);
    return [
      {
        ...stored,
        nullable: column.nullable,
        computed: computedWithQueries(manifest, column),
        default: column.default,
      },
    ];
  });
  return { ...table, columns };
}
