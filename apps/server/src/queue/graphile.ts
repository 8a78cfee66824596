import type { Logger } from "@appdb/engine/ports";
import { Logger as GraphileLogger, runMigrations } from "graphile-worker";
import type pg from "pg";

/** Makes or renews the tables of the jobs. Several servers may do so at once. */
export async function migrateJobs(pool: pg.Pool, log: Logger): Promise<void> {
  await runMigrations({ pgPool: pool, logger: graphileLogger(log) });
}

export function graphileLogger(log: Logger): GraphileLogger {
  return new GraphileLogger((scope) => (level, message, meta) => {
    const fields = { ...scope, ...(meta?.["error"] === undefined ? {} : { err: meta["error"] }), said: message };
    if (level === "error") log.error(fields, "the reconciler met an error");
    else if (level === "warning") log.warn(fields, "the reconciler warns");
    else log.debug(fields, "the reconciler says");
  });
}
