import type { Manifest } from "@appdb/contract/manifest";
import type { Catalog, CatalogView } from "../catalog/catalog.ts";
import { matchNames } from "../catalog/match-names.ts";
import { viewColumnName } from "../catalog/sql-names.ts";
import type { DeclaredView, LoweredManifest } from "../views/lower-views.ts";

/**
 * Gives the hidden columns of filtered views the previous names that are stored. The file can name a view or a column
 * that was renamed before: then only the other rename is left to do.
 */
export function withOpenRenames(
  lowered: LoweredManifest,
  { manifest, catalog, folder }: { readonly manifest: Manifest; readonly catalog: Catalog; readonly folder: string },
): LoweredManifest {
  const stored = catalog.views.filter((view) => view.folder === folder);
  const previous = new Map<string, string | null>();
  for (const { stored: before, declared: view } of matchNames(stored, lowered.views)) {
    const model = manifest.tables.find(({ name }) => name === view.name);
    const table = catalog.tables.find(({ id }) => id === before?.table_id);
    if (before === undefined || model === undefined || table === undefined) continue;
    const rename = (name: string | null, was: string | null): void => {
      const [own, former] = [viewColumnName(view.name, name), viewColumnName(before.name, was)];
      previous.set(own, former === own ? null : former);
    };
    rename(null, null);
    const columns = new Map(table.columns.map((column) => [column.name, column]));
    const names = model.columns.flatMap(({ name, renamed_from: was }) => (was == null ? [name] : [name, was]));
    // The names that the last applied file gave them.
    const lastNamed = before.renamed_from ?? before.name;
    const known = [...new Set(names)].flatMap((name) => {
      const column = columns.get(viewColumnName(before.name, name));
      const was = names.find((former) => viewColumnName(lastNamed, former) === column?.renamed_from);
      return column === undefined ? [] : [{ name, renamed_from: was ?? null }];
    });
    for (const { declared, from, refusal } of matchNames(known, model.columns)) {
      rename(declared.name, refusal === null ? (from ?? declared.name) : declared.renamed_from);
    }
  }
  const tables = lowered.tables.map((table) => ({
    ...table,
    columns: table.columns.map((column) => {
      const was = previous.get(column.name);
      return was === undefined ? column : { ...column, renamed_from: was };
    }),
  }));
  return previous.size === 0 ? lowered : { ...lowered, tables };
}

/** The names of a table's stored views after the update, by their present ones. */
export function namesAfter(
  stored: readonly CatalogView[],
  declared: readonly DeclaredView[],
): ReadonlyMap<string, string> {
  return new Map(
    matchNames(stored, declared).flatMap(({ stored: before, declared: view }) =>
      before === undefined ? [] : [[before.name, view.name]],
    ),
  );
}
