import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@appdb/contract/errors";
import { isCatalogCurrent, type Migration } from "@appdb/engine/catalog/ensure-catalog";
import type { Logger, SqlPool } from "@appdb/engine/ports";

const POLL_MS = 10;
/** A usual start takes less. */
const LOGGED_MS = 4_000;
/** The pod's owner has given up by then. */
const LIMIT_MS = 60_000;

/**
 * Waits for a database that starts at the same time as the service: for PostgreSQL, for the service's role, and for a
 * catalog of this version's format. The database pod creates the role and upgrades the catalog. Returns false when the
 * service is stopped meanwhile. A long wait is logged once, with its reason.
 * @throws database_unavailable after a minute; catalog_too_new
 */
export async function awaitCatalog(
  sql: SqlPool,
  migrations: readonly Migration[],
  stopped: Promise<unknown>,
  log: Logger,
): Promise<boolean> {
  let [isStopped, isLogged] = [false, false];
  void stopped.then(() => {
    isStopped = true;
  });
  const begunAt = performance.now();
  for (; !isStopped; await sleep(POLL_MS)) {
    const isLate = performance.now() >= begunAt + LIMIT_MS;
    try {
      if ((await isCatalogCurrent(sql, migrations)) || isLate) return true;
    } catch (error) {
      const isAway = error instanceof AppError && error.code === "database_unavailable";
      if (!isAway || isLate) throw error;
      const afterMs = Math.round(performance.now() - begunAt);
      if (isLogged || afterMs < LOGGED_MS) continue;
      isLogged = true;
      log.warn(
        { err: error, after_ms: afterMs, until_ms: LIMIT_MS },
        "the database does not answer yet, the pod tries again",
      );
    }
  }
  return false;
}
