import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import type { Principal } from "../../audit/principal.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";

/**
 * Refuses a dangerous act in a session that has not proven its person for a while: a stolen session alone does not suffice. API keys
 * are not asked: nobody could confirm for them, and their rights are bounded.
 * @throws reauthentication_required
 */
export async function demandRecentProof(
  db: ControlDatabase | Tx,
  principal: Principal,
  confirmS: number,
): Promise<void> {
  if (principal.session_id === null) return;
  const found = await db
    .selectFrom("identity.sessions")
    .select("id")
    .where("id", "=", principal.session_id)
    .where("authenticated_at", ">", sql<Date>`now() - make_interval(secs => ${confirmS}::int)`)
    .executeTakeFirst();
  if (found !== undefined) return;
  throw appError("reauthentication_required", {
    detail: `This needs a proof of your identity from the last ${confirmS / 60} minutes; the one of this session is older.`,
    hint: "Sign in again, then repeat it: cli login",
    meta: { confirm_s: confirmS },
  });
}

/** Notes that the session has proven its person now. Answers until when that counts. */
export async function noteProof(db: ControlDatabase | Tx, sessionId: string, confirmS: number): Promise<Date> {
  const { until } = await db
    .updateTable("identity.sessions")
    .set({ authenticated_at: sql`now()` })
    .where("id", "=", sessionId)
    .returning(sql<Date>`authenticated_at + make_interval(secs => ${confirmS}::int)`.as("until"))
    .executeTakeFirstOrThrow();
  return until;
}
