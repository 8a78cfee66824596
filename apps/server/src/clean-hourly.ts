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

/** Removes expired sessions, codes, invitations, links and stored answers hourly. Several servers may run it. */
export function cleanHourly(deps: CleanDeps): Disposable {
  const timer = setInterval(() => {
    cleanOnce(deps).catch((error: unknown) => deps.log.warn({ err: error }, "could not remove expired rows"));
  }, HOUR_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

export async function cleanOnce({ db, attempts }: Pick<CleanDeps, "db" | "attempts">): Promise<void> {
  await attempts.clean();
  await cleanIdempotency(db);
  // one day later, so that a person with an old code learns that it has expired
  const ended = sql`now() - interval '1 day'`;
  await sql`delete from identity.sessions where expires_at < ${ended}`.execute(db);
  await sql`delete from identity.device_codes where expires_at < ${ended}`.execute(db);
  await sql`delete from identity.verifications where expires_at < ${ended}`.execute(db);
  await sql`delete from control.invitations where expires_at < ${ended}`.execute(db);
  await sql`delete from control.traffic where minute < now() - make_interval(mins => ${TRAFFIC_KEPT_MINUTES})`.execute(
    db,
  );
}
