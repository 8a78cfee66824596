import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../../database/pool.ts";

/** Sets a new session's organization: the one last switched to, otherwise the one joined first. */
export async function chooseOrg(db: ControlDatabase | Tx, sessionId: string, userId: string): Promise<void> {
  await sql`
    insert into control.session_orgs (session_id, org_id)
    select ${sessionId}, m.org_id from control.members m
    left join lateral (
      select max(so.at) as at from control.session_orgs so
      join identity.sessions s on s.id = so.session_id
      where so.org_id = m.org_id and s.user_id = m.user_id
    ) used on true
    where m.user_id = ${userId}
    order by used.at desc nulls last, m.created_at limit 1
    on conflict (session_id) do nothing`.execute(db);
}

/** Switches a session to another organization of its person. */
export async function switchOrg(db: ControlDatabase | Tx, sessionId: string, orgId: string): Promise<void> {
  await db
    .insertInto("control.session_orgs")
    .values({ session_id: sessionId, org_id: orgId })
    .onConflict((conflict) => conflict.column("session_id").doUpdateSet({ org_id: orgId, at: sql`now()` }))
    .execute();
}
