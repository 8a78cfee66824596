import { appError } from "@appdb/contract/errors";

/** The error of a path that names a folder with tables where a table is expected; undefined for other paths. */
export function folderRefusal(
  tables: readonly { readonly folder: string }[],
  { folder, name, text }: { readonly folder: string; readonly name: string; readonly text: string },
): Error | undefined {
  const path = folder === "public" ? name : `${folder}/${name}`;
  // the root has a schema, but is not a folder
  const isFolder = path !== "public" && tables.some((one) => `${one.folder}/`.startsWith(`${path}/`));
  if (!isFolder) return undefined;
  return appError("table_not_found", {
    detail: `${text} is a folder, not a table.`,
    hint: `List its tables: cli ls ${text}`,
    meta: { table: text },
  });
}
