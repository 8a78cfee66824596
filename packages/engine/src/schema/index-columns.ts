import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestTable } from "@appdb/contract/manifest";

/** PostgreSQL refuses an index over more columns. The key of a table is an index, too. */
export const MAX_INDEX_COLUMNS = 32;
/** Columns by which a message names an index without a name. */
const SHOWN_COLUMNS = 3;

/** @throws app_invalid when an index or a key has more columns than PostgreSQL can index */
export function refuseWideIndexes({ tables }: Pick<Manifest, "tables">): void {
  for (const table of tables) {
    const wide = table.indexes.find(({ columns }) => columns.length > MAX_INDEX_COLUMNS);
    if (wide !== undefined) throw tooWide(table, `Index ${labelOf(wide)}`, wide.columns.length);
    const { length } = table.primary_key;
    if (length > MAX_INDEX_COLUMNS) throw tooWide(table, "The primary key", length);
  }
}

function labelOf({ columns, name }: ManifestTable["indexes"][number]): string {
  if (name !== null) return `'${name}'`;
  const shown = columns.slice(0, SHOWN_COLUMNS).join(", ");
  return `on (${shown}${columns.length > SHOWN_COLUMNS ? ", ..." : ""})`;
}

function tooWide({ name, source }: ManifestTable, what: string, count: number): Error {
  return appError("app_invalid", {
    detail: `${source.file}:${source.line}: ${what} of table '${name}' has ${count} columns. The maximum is ${MAX_INDEX_COLUMNS}.`,
    hint: `Name at most ${MAX_INDEX_COLUMNS} columns, those by which you search first.`,
    meta: { table: name, columns: count, max: MAX_INDEX_COLUMNS },
  });
}
