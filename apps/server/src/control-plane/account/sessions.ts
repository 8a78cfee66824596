import { appError } from "@appdb/contract/errors";
import type { SignedInSession } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import type { RecordEvent } from "../../audit/event.ts";
import type { CallClient, Principal } from "../../audit/principal.ts";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import type { Person } from "../../identity/person.ts";
import { switchOrg } from "../../identity/tokens/session-orgs.ts";
import { type FindOrg, orgNotFound } from "../../requests/checked-route.ts";

const MADE_AT = sql<string>`(extract(epoch from created_at) * 1000000)::bigint`;

/** The person's active sessions, newest first. */
export async function listSessions(
  db: ControlDatabase,
  person: Person,
  page: PageQuery,
): Promise<{ items: SignedInSession[]; next: string | null }> {
  const from = readPageCursor(page.cursor, "time");
  let query = db
    .selectFrom("identity.sessions")
    .select(["id", "client", "ip_address", "user_agent", "created_at", "updated_at", "expires_at"])
    .select(MADE_AT.as("made_at"))
    .where("user_id", "=", person.user_id)
    .where("expires_at", ">", sql<Date>`now()`)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc")
    .limit(page.limit + 1);
  if (from !== undefined) query = query.where(sql<boolean>`(${MADE_AT}, id) < (${from.after}::bigint, ${from.id})`);
  const rows = await query.execute();
  return toPage(
    rows,
    page.limit,
    (row) => ({
      id: row.id,
      current: row.id === person.session_id,
      client: row.client === "cli" ? ("cli" as const) : ("browser" as const),
      ip_address: row.ip_address,
      user_agent: row.user_agent?.slice(0, 200) ?? null,
      created_at: row.created_at.toISOString(),
      last_used_at: row.updated_at.toISOString(),
      expires_at: row.expires_at.toISOString(),
    }),
    (row) => ({ after: row.made_at, id: row.id }),
  );
}

export interface RevokeDeps {
  readonly db: ControlDatabase;
  readonly recordEvent: RecordEvent;
}

/** Ends one of the person's sessions. @throws session_not_found, also for other people's sessions */
export async function revokeSession(deps: RevokeDeps, person: Person, id: string, client: CallClient): Promise<void> {
  await deps.db.transaction().execute(async (tx) => {
    const ended = await tx
      .deleteFrom("identity.sessions")
      .where("id", "=", id)
      .where("user_id", "=", person.user_id)
      .returning("client")
      .executeTakeFirst();
    if (ended === undefined) {
      throw appError("session_not_found", {
        detail: "You have no such session. It may have ended.",
        hint: "List your sessions: GET /v1/sessions",
      });
    }
    await deps.recordEvent(tx, {
      action: "session.revoke",
      target: person.email,
      org_id: null,
      actor: person.email,
      principal: person,
      ...client,
      outcome: "succeeded",
      detail: { session: id, client: ended.client },
    });
  });
}

/** Switches the session to another of the person's organizations. @throws organization_not_found */
export async function switchSession(
  deps: { readonly db: ControlDatabase; readonly findOrg: FindOrg },
  person: Person,
  name: string,
): Promise<Principal> {
  const org = await deps.findOrg(person, name);
  if (org === undefined) throw orgNotFound(name);
  await switchOrg(deps.db, person.session_id, org.id);
  return { ...person, organization: org };
}
