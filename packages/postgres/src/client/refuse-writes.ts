import type { SqlConnection } from "@appdb/engine/ports";

const SETTING = "default_transaction_read_only";

/** Of connections that write also while others may not: a part of their startup packet. */
export const WRITES_ALWAYS = `-c ${SETTING}=off`;

/**
 * Has PostgreSQL refuse every transaction that writes from now on, of all that are connected but those that connected with
 * `WRITES_ALWAYS`; or take them again. Holds over restarts of the server. Safe to repeat.
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
