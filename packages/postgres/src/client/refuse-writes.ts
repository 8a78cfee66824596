import { DISK_ROOM, MEDIA_LIMIT } from "@appdb/engine/media/media-objects";
import type { SqlConnection, SqlResult } from "@appdb/engine/ports";
import { serverRefusesWrites, writesAreRefused } from "./pg-errors.ts";

const SETTING = "default_transaction_read_only";

/** Startup option of connections that may write while others may not. */
export const WRITES_ALWAYS = `-c ${SETTING}=off`;

/** PostgreSQL's setting with the disk for which it refuses writes: `server`, or unset for the database's own. */
const FULL_DISK = "appdb.full_disk";

/** The disk without space: the part of the database (`disk_gb`), or the one that all databases of a server share. */
export type FullDisk = "database" | "server";

/**
 * Makes PostgreSQL refuse every writing transaction of all connections except those opened with `WRITES_ALWAYS`, or
 * accept writes again. A checkpoint then removes log that a full disk has no room for. Survives server restarts. Safe to
 * repeat.
 */
export async function refuseWrites(sql: SqlConnection, full: FullDisk | undefined): Promise<void> {
  await alterSystem(sql, FULL_DISK, full === "server" ? full : undefined);
  await alterSystem(sql, SETTING, full === undefined ? undefined : "on");
  if (full !== undefined) await sql.query({ text: "checkpoint" });
}

/** Names the server's disk in PostgreSQL's refusal of a write. Returns any other error unchanged. */
export async function nameFullDisk(error: unknown, ask: (text: string) => Promise<SqlResult>): Promise<unknown> {
  if (!writesAreRefused(error)) return error;
  // the refusal is known, and a lost connection says no more about it
  const answer = await ask(`select current_setting('${FULL_DISK}', true)`).catch(() => undefined);
  return answer?.rows[0]?.[0] === "server" ? serverRefusesWrites(error) : error;
}

/** Tells all connections how many bytes may still be written (`readDiskRoom`); undefined for enough. Safe to repeat. */
export async function tellDiskRoom(sql: SqlConnection, bytes: number | undefined): Promise<void> {
  await alterSystem(sql, DISK_ROOM, bytes === undefined ? undefined : String(bytes));
}

/** Tells all connections the maximum bytes of the media store (`readLimitedUse`); undefined for none. Safe to repeat. */
export async function tellMediaLimit(sql: SqlConnection, bytes: number | undefined): Promise<void> {
  await alterSystem(sql, MEDIA_LIMIT, bytes === undefined ? undefined : String(bytes));
}

async function alterSystem(sql: SqlConnection, name: string, value: string | undefined): Promise<void> {
  const { rows } = await sql.query({
    text: "select max(setting) from pg_file_settings where name = $1",
    values: [name],
  });
  if ((rows[0]?.[0] ?? undefined) === value) return;
  await sql.query({
    text: value === undefined ? `alter system reset ${name}` : `alter system set ${name} = '${value}'`,
  });
  await sql.query({ text: "select pg_reload_conf()" });
}
