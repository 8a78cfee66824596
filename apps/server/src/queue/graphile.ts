import type { Logger } from "@appdb/engine/ports";
import { Logger as GraphileLogger, runMigrations } from "graphile-worker";
import type pg from "pg";
import { isDatabaseLost } from "../database/pool.ts";

/** Makes or renews the tables of the jobs. Several servers may do so at once. */
export async function migrateJobs(pool: pg.Pool, log: Logger): Promise<void> {
  await runMigrations({ pgPool: pool, logger: graphileLogger(log) });
}

export function graphileLogger(log: Logger): GraphileLogger {
  return new GraphileLogger((scope) => (level, message, meta) => {
    const error = meta?.["error"];
    const fields = { ...scope, ...(error === undefined ? {} : { err: error }), said: message };
    // the pool and /health tell of a PostgreSQL that is away; each of the workers' tries would tell of it again
    if (level === "error" && isDatabaseLost(error)) log.debug(fields, "the reconciler waits for PostgreSQL");
    else if (level === "error") log.error(fields, "the reconciler met an error");
    else if (level === "warning") log.warn(fields, "the reconciler warns");
    else log.debug(fields, "the reconciler says");
  });
}
