import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@appdb/contract/errors";
import { isCatalogCurrent, type Migration } from "@appdb/engine/catalog/ensure-catalog";
import type { SqlPool } from "@appdb/engine/ports";

const POLL_MS = 10;
/** The pod's owner has given up by then. */
const LIMIT_MS = 60_000;

/**
 * Waits for a database that starts at the same time as the service: for PostgreSQL, for the service's role, and for a
 * catalog of this version's format. The database pod creates the role and upgrades the catalog. Returns false when the
 * service is stopped meanwhile.
 * @throws database_unavailable after a minute; catalog_too_new
 */
export async function awaitCatalog(
  sql: SqlPool,
  migrations: readonly Migration[],
  stopped: Promise<unknown>,
): Promise<boolean> {
  let isStopped = false;
  void stopped.then(() => {
    isStopped = true;
  });
  for (const until = performance.now() + LIMIT_MS; !isStopped; await sleep(POLL_MS)) {
    const isLate = performance.now() >= until;
    try {
      if ((await isCatalogCurrent(sql, migrations)) || isLate) return true;
    } catch (error) {
      const isAway = error instanceof AppError && error.code === "database_unavailable";
      if (!isAway || isLate) throw error;
    }
  }
  return false;
}
