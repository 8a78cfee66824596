import { appError } from "@appdb/contract/errors";
import type { SqlConnection } from "../ports.ts";
import type { Catalog } from "./catalog.ts";
import { listFolders } from "./folders.ts";

/**
 * Checks that a database has a folder, by its path there. The root is none.
 * @throws folder_not_found
 */
export async function requireFolder(sql: SqlConnection, { tables, views }: Catalog, path: string): Promise<void> {
  if (path === "") return;
  const folders = await listFolders(sql);
  if (folders.some((one) => one === path || one.startsWith(`${path}/`))) return;
  const shown = path.slice(0, 200);
  const cut = path.lastIndexOf("/");
  const [folder, name] = cut < 0 ? ["public", path] : [path.slice(0, cut), path.slice(cut + 1)];
  const isTable = [...tables, ...views].some((one) => one.folder === folder && one.name === name);
  const found = folders.length === 0 ? "The database has no folder." : `Its folders are: ${folders.join(", ")}`;
  throw appError("folder_not_found", {
    detail: isTable ? `${shown} is a table, and a folder is expected.` : `The database has no folder ${shown}.`,
    hint: isTable ? "Name the database alone. The statement names the table." : found,
    meta: { folder: shown },
  });
}
