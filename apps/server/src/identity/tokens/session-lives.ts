import { type RawBuilder, sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";

/** A session ends after this time without use. */
export const IDLE_S = 30 * 24 * 3600;
/** How often the use of a session is recorded. */
export const TOUCH_S = 300;

/** Maximum lifetimes of sessions, in seconds. */
export interface SessionLives {
  readonly browser_s: number;
  readonly cli_s: number;
}

/** SQL for the absolute end of the session `table`, by its client. */
export function absoluteEnd(table: string, lives: SessionLives): RawBuilder<Date> {
  const client = sql.ref(`${table}.client`);
  const createdAt = sql.ref(`${table}.created_at`);
  return sql<Date>`(${createdAt} + make_interval(secs => case when ${client} = 'cli' then ${lives.cli_s}::int else ${lives.browser_s}::int end))`;
}

/** Sets the times of a new session by the database's clock, which all servers share. */
export async function startSession(db: ControlDatabase, id: string, lives: SessionLives): Promise<void> {
  await sql`
    update identity.sessions s set created_at = now(), updated_at = now(), authenticated_at = now(),
      expires_at = now() + make_interval(secs => least(${IDLE_S}::int, case when s.client = 'cli' then ${lives.cli_s}::int else ${lives.browser_s}::int end))
    where s.id = ${id}`.execute(db);
}

export interface Prolonged {
  readonly expires_at: Date;
  /** Remaining lifetime. */
  readonly rest_s: number;
}

/** Extends a session after use, up to its absolute end. */
export async function extendSession(
  db: ControlDatabase,
  id: string,
  lives: SessionLives,
): Promise<Prolonged | undefined> {
  const { rows } = await sql<Prolonged>`
    update identity.sessions s
    set updated_at = now(), expires_at = least(now() + make_interval(secs => ${IDLE_S}::int), ${absoluteEnd("s", lives)})
    where s.id = ${id}
    returning s.expires_at, floor(extract(epoch from s.expires_at - now()))::int as rest_s`.execute(db);
  return rows[0];
}
