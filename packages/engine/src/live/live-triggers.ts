import { type SqlConnection, SqlError, type SqlPool } from "../ports.ts";
import { quoteLiteral, quoteTable } from "../sql/quote.ts";

/** The parts of a table that its triggers need. */
export interface WatchedTable {
  readonly id: number;
  readonly folder: string;
  readonly name: string;
}

/** Watches of a dead service expire after this time, in seconds. */
export const WATCH_S = 60;
/** Maximum wait for a lock on the table. Writers wait behind this lock request. */
const LOCK_TIMEOUT_MS = 200;

/** One trigger per kind of statement: PostgreSQL passes transition tables only to triggers of one kind. */
const TRIGGERS = [
  { name: "appdb_live_insert", on: "insert", rows: "referencing new table as new_rows" },
  { name: "appdb_live_update", on: "update", rows: "referencing old table as old_rows new table as new_rows" },
  { name: "appdb_live_delete", on: "delete", rows: "referencing old table as old_rows" },
  { name: "appdb_live_truncate", on: "truncate", rows: "" },
] as const;

/**
 * Makes every later commit to the table send a notification. `columns` are those whose values are needed. Returns false
 * when another transaction holds the table. The lock waits for current writers, so any later read sees their writes.
 */
export async function watchTable(
  sql: SqlPool,
  owner: string,
  table: WatchedTable,
  columns: readonly string[],
): Promise<boolean> {
  return underLock(sql, table, async (connection) => {
    await connection.query({
      text: `insert into appdb.live_watches (table_id, owner, columns, until) values ($1, $2, $3, now() + make_interval(secs => $4))
        on conflict (table_id, owner) do update set columns = excluded.columns, until = excluded.until`,
      values: [table.id, owner, [...columns], WATCH_S],
    });
    const states = await triggerStates(connection, table);
    const off = TRIGGERS.filter(({ name }) => states.get(name) === "D");
    for (const { name, on, rows } of TRIGGERS.filter((trigger) => !states.has(trigger.name))) {
      await connection.query({
        text: `create trigger ${name} after ${on} on ${quoteTable(table)} ${rows}
          for each statement execute function appdb.tell_live(${quoteLiteral(String(table.id))})`,
      });
    }
    if (off.length > 0) await switchTriggers(connection, table, "enable", off);
  });
}

/** Ends the watch, and disables the triggers when it was the last. Returns false when another transaction holds the
 *  table. */
export async function unwatchTable(sql: SqlPool, owner: string, table: WatchedTable): Promise<boolean> {
  return underLock(sql, table, async (connection) => {
    const { rows } = await connection.query({
      text: `with gone as (
          delete from appdb.live_watches where table_id = $1 and (owner = $2 or until < now()) returning owner)
        select count(*) filter (where w.owner not in (select owner from gone)) from appdb.live_watches w where table_id = $1`,
      values: [table.id, owner],
    });
    if (rows[0]?.[0] !== "0") return;
    const states = await triggerStates(connection, table);
    const on = TRIGGERS.filter(({ name }) => (states.get(name) ?? "D") !== "D");
    if (on.length > 0) await switchTriggers(connection, table, "disable", on);
  });
}

/** Renews an owner's watches. Returns the tables that it still had. */
export async function renewWatches(sql: SqlConnection, owner: string): Promise<ReadonlySet<number>> {
  const { rows } = await sql.query({
    text: "update appdb.live_watches set until = now() + make_interval(secs => $2) where owner = $1 returning table_id",
    values: [owner, WATCH_S],
  });
  return new Set(rows.map(([id]) => Number(id)));
}

/** Tables that only dead services watch. */
export async function findForgotten(sql: SqlConnection): Promise<readonly WatchedTable[]> {
  const { rows } = await sql.query({
    text: `select t.id, t.folder, t.name from appdb.tables t
      where t.id in (select table_id from appdb.live_watches group by table_id having max(until) < now())`,
  });
  return rows.map(([id, folder, name]) => ({ id: Number(id), folder: folder ?? "", name: name ?? "" }));
}

async function underLock(
  sql: SqlPool,
  table: WatchedTable,
  work: (connection: SqlConnection) => Promise<void>,
): Promise<boolean> {
  try {
    await sql.transaction(async (connection) => {
      await connection.query({ text: `set local lock_timeout = ${LOCK_TIMEOUT_MS}` });
      await connection.query({ text: `lock table ${quoteTable(table)} in share row exclusive mode` });
      await work(connection);
    });
    return true;
  } catch (error) {
    // lock_not_available, deadlock_detected
    if (error instanceof SqlError && (error.sqlstate === "55P03" || error.sqlstate === "40P01")) return false;
    throw error;
  }
}

async function triggerStates(connection: SqlConnection, table: WatchedTable): Promise<ReadonlyMap<string, string>> {
  const { rows } = await connection.query({
    text: "select tgname, tgenabled from pg_trigger where tgrelid = $1::regclass and tgname like 'appdb\\_live\\_%'",
    values: [quoteTable(table)],
  });
  return new Map(rows.map(([name, state]) => [name ?? "", state ?? ""]));
}

async function switchTriggers(
  connection: SqlConnection,
  table: WatchedTable,
  how: "enable" | "disable",
  triggers: readonly { readonly name: string }[],
): Promise<void> {
  // Unlike dropping a trigger, this does not block readers.
  const actions = triggers.map(({ name }) => `${how} trigger ${name}`);
  await connection.query({ text: `alter table ${quoteTable(table)} ${actions.join(", ")}` });
}
