import { refuseDeviceName } from "@appdb/contract/device-names";
import type { SqlConnection } from "../ports.ts";
import { createFolder, dropFolder } from "./ddl.ts";

/** Folders are PostgreSQL schemas. The root, `public`, is not one of them. */

/** Makes a folder, which stays until it is dropped. @throws invalid_name */
export async function storeFolder(sql: SqlConnection, folder: string): Promise<void> {
  refuseDevices(folder, await listFolders(sql));
  await sql.query({ text: createFolder(folder) });
  await sql.query({ text: "insert into appdb.folders (name) values ($1) on conflict do nothing", values: [folder] });
}

/** Refuses a new folder with the name of a device. @throws invalid_name */
export function refuseDevices(folder: string, existing: readonly string[]): void {
  const parts = folder.split("/");
  for (const [at, name] of parts.entries()) {
    const path = parts.slice(0, at + 1).join("/");
    if (!existing.some((one) => one === path || one.startsWith(`${path}/`))) refuseDeviceName("folder", name);
  }
}

/** The folders of the database, by name. */
export async function listFolders(sql: SqlConnection): Promise<string[]> {
  const { rows } = await sql.query({ text: `select name from appdb.folders order by name collate "C"` });
  return rows.map(([name]) => name ?? "");
}

/** Drops a folder without tables. */
export async function deleteFolder(sql: SqlConnection, folder: string): Promise<void> {
  await sql.query({ text: dropFolder(folder) });
  await sql.query({ text: "delete from appdb.folders where name = $1", values: [folder] });
}

/** Gives folders another beginning of their paths, with what is in them. */
export async function renameInFolders(
  sql: SqlConnection,
  folders: readonly string[],
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const renamed = (column: string) => `${column} = $1 || substr(${column}, length($2) + 1)`;
  for (const [table, column] of [
    ["folders", "name"],
    ["tables", "folder"],
    ["views", "folder"],
  ] as const) {
    await sql.query({
      text: `update appdb.${table} set ${renamed(column)} where ${column} = any($3::text[])`,
      values: [to, from, [...folders]],
    });
  }
}
