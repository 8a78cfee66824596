import type { SqlConnection } from "@appdb/engine/ports";

const SETTING = "default_transaction_read_only";

/** Startup option of connections that may write while others may not. */
export const WRITES_ALWAYS = `-c ${SETTING}=off`;

/**
 * Makes PostgreSQL refuse every writing transaction of all connections except those opened with `WRITES_ALWAYS`, or
 * accept writes again. Survives server restarts. Safe to repeat.
 */
export async function refuseWrites(sql: SqlConnection, isRefused: boolean): Promise<void> {
  const { rows } = await sql.query({
    text: "select coalesce(bool_or(setting = 'on'), false) from pg_file_settings where name = $1",
    values: [SETTING],
  });
  if (rows[0]?.[0] === (isRefused ? "t" : "f")) return;
  await sql.query({ text: isRefused ? `alter system set ${SETTING} = on` : `alter system reset ${SETTING}` });
  await sql.query({ text: "select pg_reload_conf()" });
}
