import { findRow, type OrgOfDatabases } from "../databases/databases-store.ts";
import type { FindPodDeps } from "../databases/find-pod.ts";
import { type CheckedRelease, checkRelease } from "../services/check-release.ts";
import { type LockedService, readServices } from "../services/lock-services.ts";
import { findLastBefore } from "./deploys-store.ts";

/** By service name: the release of a rollback, compared with the tables. */
export type FormerReleases = ReadonlyMap<string, CheckedRelease>;

/**
 * Compares the releases that a rollback would start with the current tables, before its transaction. Skips a database
 * that is not AVAILABLE, because its rollback is refused.
 * @throws database_not_reached
 */
export async function checkFormerReleases(
  deps: FindPodDeps,
  org: OrgOfDatabases,
  name: string,
  signal: AbortSignal,
): Promise<FormerReleases> {
  const checked = new Map<string, CheckedRelease>();
  const database = await findRow(deps.db, org.id, name);
  if (database?.state !== "AVAILABLE") return checked;
  const before = await findLastBefore(deps.db, database.id);
  const rows = new Map((await readServices(deps.db, database.id)).map((row) => [row.name, row]));
  for (const { is_running: isRunning, name: service, release } of before?.services ?? []) {
    const row = rows.get(service);
    if (row === undefined || !isRunning || runs(row, release)) continue;
    const found = await checkRelease(deps, org, name, row, release, signal);
    if (found !== undefined) checked.set(service, found);
  }
  return checked;
}

function runs({ desired, observed }: LockedService, release: number): boolean {
  return desired.release === release && observed?.release === release;
}
