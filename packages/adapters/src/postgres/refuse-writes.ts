import type { SqlConnection } from "@appdb/engine/ports";

const SETTING = "default_transaction_read_only";

/** Of connections that write also while others may not: a part of their startup packet. */
export const WRITES_ALWAYS = `-c ${SETTING}=off`;

/**
 * Has PostgreSQL refuse every transaction that writes from now on, of all that are connected but those that connected with
 * `WRITES_ALWAYS`; or take them again. Holds over restarts of the server. Safe to repeat.
 */
export async function refuseWrites(sql: SqlConnection, is_refused: boolean): Promise<void> {
  const { rows } = await sql.query({
    text: "select coalesce(bool_or(setting = 'on'), false) from pg_file_settings where name = $1",
    values: [SETTING],
  });
  if (rows[0]?.[0] === (is_refused ? "t" : "f")) return;
  await sql.query({ text: is_refused ? `alter system set ${SETTING} = on` : `alter system reset ${SETTING}` });
  await sql.query({ text: "select pg_reload_conf()" });
}
