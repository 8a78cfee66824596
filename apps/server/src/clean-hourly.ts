import { TRAFFIC_KEPT_MINUTES } from "@appdb/contract/routes/control-services";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import type { ControlDatabase } from "./database/pool.ts";
import type { Attempts } from "./identity/second-factor/attempts.ts";
import { cleanIdempotency } from "./requests/idempotency.ts";

const HOUR_MS = 3_600_000;

export interface CleanDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly attempts: Attempts;
}

/** Removes once an hour what has ended: sessions, codes, invitations, links, kept answers. Any server may, at any time. */
export function cleanHourly(deps: CleanDeps): Disposable {
  const timer = setInterval(() => {
    cleanOnce(deps).catch((error: unknown) => deps.log.warn({ err: error }, "what has ended was not removed"));
  }, HOUR_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

export async function cleanOnce({ db, attempts }: Pick<CleanDeps, "db" | "attempts">): Promise<void> {
  await attempts.clean();
  await cleanIdempotency(db);
  // a day later: who comes back with a code is told that it has expired
  const ended = sql`now() - interval '1 day'`;
  await sql`delete from identity.sessions where expires_at < ${ended}`.execute(db);
  await sql`delete from identity.device_codes where expires_at < ${ended}`.execute(db);
  await sql`delete from identity.verifications where expires_at < ${ended}`.execute(db);
  await sql`delete from control.invitations where expires_at < ${ended}`.execute(db);
  await sql`delete from control.traffic where minute < now() - make_interval(mins => ${TRAFFIC_KEPT_MINUTES})`.execute(
    db,
  );
}
