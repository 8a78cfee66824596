import { DISK_ROOM, MEDIA_LIMIT } from "@appdb/engine/media/media-objects";
import type { SqlConnection } from "@appdb/engine/ports";

const SETTING = "default_transaction_read_only";

/** Startup option of connections that may write while others may not. */
export const WRITES_ALWAYS = `-c ${SETTING}=off`;

/**
 * Makes PostgreSQL refuse every writing transaction of all connections except those opened with `WRITES_ALWAYS`, or
 * accept writes again. Survives server restarts. Safe to repeat.
 */
export async function refuseWrites(sql: SqlConnection, isRefused: boolean): Promise<void> {
  await alterSystem(sql, SETTING, isRefused ? "on" : undefined);
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
