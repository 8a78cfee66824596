import { listFolders } from "@appdb/engine/catalog/folders";
import { hasCatalog } from "@appdb/engine/catalog/load-catalog";
import type { ReadableTable } from "@appdb/engine/views/view-tables";
import { type DataSource, tableIn } from "./data-handlers.ts";

/**
 * What a path within a database names: a table or view, or a folder with or without tables.
 * @throws table_not_found when it names neither; invalid_target
 */
export async function findPlace(
  source: Pick<DataSource, "sql" | "uri">,
  path: string,
): Promise<{ readonly table: ReadableTable } | { readonly folder: string }> {
  const folders = (await hasCatalog(source.sql)) ? await listFolders(source.sql) : [];
  if (folders.some((one) => one === path || one.startsWith(`${path}/`))) return { folder: path };
  return { table: (await tableIn(source, path)).table };
}
