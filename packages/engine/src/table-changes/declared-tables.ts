import type { ManifestTable } from "@appdb/contract/manifest";
import type { Catalog } from "../catalog/catalog.ts";
import { declaredOver, findStored } from "./read-declaration.ts";

/**
 * The declarations of tables and of the views over them, as they are now. A table that is still as its file declared it
 * keeps that declaration, which also has its unstored columns. Views without rows after a failed fill are left out.
 */
export function declaredTables(
  catalog: Catalog,
  folder: string,
  names: ReadonlySet<string>,
  applied: readonly ManifestTable[],
): ManifestTable[] {
  const views = catalog.views.filter((view) => {
    const table = catalog.tables.find(({ id }) => id === view.table_id);
    return view.folder === folder && table !== undefined && names.has(table.name);
  });
  const all = new Set([...names, ...views.map(({ name }) => name)]);
  return [...all].flatMap((name) => {
    const stored = findStored(catalog, folder, name);
    if (stored === undefined) return [];
    const [declared] = declaredOver(catalog, [stored]);
    if (declared === undefined) return [];
    const before = applied.find((table) => table.name === name);
    return [before !== undefined && textOf(before) === textOf(declared) ? before : declared];
  });
}

/** What rows depend on. */
function textOf({ columns, primary_key: key, view }: ManifestTable): string {
  const values = columns.map(({ computed, default: given, name, nullable, type }) => [
    name,
    type,
    nullable,
    computed?.expr ?? null,
    given ?? null,
  ]);
  return JSON.stringify([values, key, view ?? null]);
}
