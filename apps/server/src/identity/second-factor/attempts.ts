import { createHash } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import { networkOf } from "@appdb/system/network/network-of";
import { sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";

/** Maximum attempts in a time window, by account and address. */
export const ATTEMPT_LIMITS = {
  /** From one network, for one account. */
  sign_in_pair: { count: 10, window_s: 900 },
  /** From all networks, for one account. */
  sign_in_account: { count: 100, window_s: 900 },
  /** From one browser that has signed in to the account before. The limits above ignore these attempts. */
  sign_in_device: { count: 10, window_s: 900 },
  /** Codes of a second factor. */
  second_factor_account: { count: 5, window_s: 900 },
  /** The current password in a session. */
  confirm_account: { count: 10, window_s: 900 },
  sign_in_address: { count: 100, window_s: 900 },
  sign_up_address: { count: 30, window_s: 3600 },
  reset_account: { count: 5, window_s: 3600 },
  reset_address: { count: 30, window_s: 3600 },
  device_request_address: { count: 60, window_s: 900 },
  device_code_account: { count: 20, window_s: 900 },
  device_code_address: { count: 60, window_s: 900 },
  invitation_address: { count: 60, window_s: 900 },
  set_up_address: { count: 20, window_s: 900 },
} as const;
export type AttemptKind = keyof typeof ATTEMPT_LIMITS;

export interface Attempts {
  /** Counts an attempt before it is made, so that concurrent ones cannot exceed the limit. @throws too_many_attempts */
  take(kind: AttemptKind, subject: string): Promise<void>;
  /** Resets the count after a success. */
  forget(kind: AttemptKind, subject: string): Promise<void>;
  /** Removes expired counts. */
  clean(): Promise<void>;
}

/** Counts attempts in PostgreSQL, shared by all servers and across restarts. */
export function createAttempts(db: ControlDatabase): Attempts {
  return {
    async take(kind, subject) {
      const { count, window_s: windowS } = ATTEMPT_LIMITS[kind];
      const found = await sql<{ count: number; wait_s: number }>`
        insert into identity.attempts as a (kind, subject, count) values (${kind}, ${hash(kind, subject)}, 1)
        on conflict (kind, subject) do update set
          count = case when a.since < now() - make_interval(secs => ${windowS}) then 1 else least(a.count + 1, 1000000) end,
          since = case when a.since < now() - make_interval(secs => ${windowS}) then now() else a.since end
        returning count, ceil(extract(epoch from since + make_interval(secs => ${windowS}) - now()))::int as wait_s`.execute(
        db,
      );
      const row = found.rows[0];
      if (row === undefined || row.count <= count) return;
      throw appError("too_many_attempts", {
        detail: `There were more than ${count} attempts in ${windowS / 60} minutes.`,
        hint: `Wait ${Math.ceil(row.wait_s / 60)} minutes, then try again.`,
        meta: { retry_after_s: row.wait_s },
      });
    },
    async forget(kind, subject) {
      await db
        .deleteFrom("identity.attempts")
        .where("kind", "=", kind)
        .where("subject", "=", hash(kind, subject))
        .execute();
    },
    async clean() {
      await sql`delete from identity.attempts where since < now() - interval '2 hours'`.execute(db);
    },
  };
}

/** Hashes the subject, so that no addresses of people or machines are stored. */
function hash(kind: AttemptKind, subject: string): Buffer {
  const counted = kind.endsWith("_address") ? networkOf(subject) : subject;
  return createHash("sha256").update(counted.trim().toLowerCase()).digest();
}
