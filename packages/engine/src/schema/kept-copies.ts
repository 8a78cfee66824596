import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import type { Catalog } from "../catalog/catalog.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import { folderSchema } from "../target.ts";
import { possibleCopies, shownColumns } from "../views/carried-columns.ts";
import { type LoweredManifest, lowerViews } from "../views/lower-views.ts";
import { columnsOfUndeclared, ownersOf } from "./view-columns.ts";

/**
 * A manifest without views among its tables. Rows of its iterator views keep the copies of columns that views read which
 * the file does not declare.
 * @throws any error of lowerViews
 */
export function withKeptCopies(
  manifest: Manifest,
  { catalog, target }: { readonly catalog: Catalog; readonly target: string },
): LoweredManifest {
  const lowered = lowerViews(manifest);
  const models = {
    shownBy: shownColumns(manifest.tables),
    tables: new Map(manifest.tables.map((table) => [table.name, table])),
  };
  const tables = manifest.tables.map((table) => {
    const stored = catalog.tables.find(
      ({ folder, name }) => folder === folderSchema(target) && (name === table.name || name === table.renamed_from),
    );
    const copies = possibleCopies(table, models);
    if (stored === undefined || copies.size === 0) return table;
    const owners = ownersOf(stored, table.name, lowered, catalog);
    const kept = columnsOfUndeclared(owners, lowered);
    const read = stored.columns.flatMap(({ name, computed }) =>
      computed === null || !kept.has(name) ? [] : referencedColumns(computed.expr),
    );
    const now = lowered.tables.find(({ name }) => name === table.name);
    const added = [...new Set(read)].flatMap((name) => {
      const copy = copies.get(name);
      return copy === undefined || now?.columns.some((one) => one.name === copy.name) === true ? [] : [copy];
    });
    return added.length === 0 ? table : { ...table, columns: [...table.columns, ...added] };
  });
  const isSame = tables.every((table: ManifestTable, at) => table === manifest.tables[at]);
  return isSame ? lowered : lowerViews({ ...manifest, tables });
}
