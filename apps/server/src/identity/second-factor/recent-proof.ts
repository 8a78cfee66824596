import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import type { Principal } from "../../audit/principal.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";

/**
 * Refuses a dangerous action in a session without a recent proof of identity, because a session may be stolen. API keys
 * are exempt: they cannot confirm, and their permissions are limited.
 * @throws reauthentication_required
 */
export async function requireRecentProof(
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
    detail: `This needs a proof of your identity from the last ${confirmS / 60} minutes. The proof of this session is older.`,
    hint: "Sign in again, then repeat it: cli login",
    meta: { confirm_s: confirmS },
  });
}

/** Records a proof of identity for the session. Returns its expiry. */
export async function recordProof(db: ControlDatabase | Tx, sessionId: string, confirmS: number): Promise<Date> {
  const { until } = await db
    .updateTable("identity.sessions")
    .set({ authenticated_at: sql`now()` })
    .where("id", "=", sessionId)
    .returning(sql<Date>`authenticated_at + make_interval(secs => ${confirmS}::int)`.as("until"))
    .executeTakeFirstOrThrow();
  return until;
}
