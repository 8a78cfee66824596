import { listRuntimes } from "@appdb/engine/catalog/catalog-store";
import { hasCatalog } from "@appdb/engine/catalog/load-catalog";
import type { DatabasePodDeps } from "../composition/compose-database.ts";

/** The first request of a woken database has the machine for itself. */
const FIRST_MS = 1_000;
const EVERY_MS = 30_000;
/** What was opened for an update or for jobs is parked when the database was not used for so long. */
const IDLE_MS = 60_000;

type WorkDeps = Pick<
  DatabasePodDeps,
  "databases" | "database" | "disk" | "use" | "steady" | "log" | "manifests" | "sql"
>;

/**
 * What a database pod does unasked: goes on with jobs that an earlier pod or a service left, watches the disk, and lets go of
 * what nobody uses. Disposing waits for what is being done.
 */
export function runPodWork(deps: WorkDeps): AsyncDisposable {
  let isEnded = false;
  let isTidy = false;
  let working = Promise.resolve();
  let timer = setTimeout(next, FIRST_MS);
  function next(): void {
    working = begin().catch((error: unknown) => {
      // PostgreSQL may be on its way back; the next time tries again
      deps.log.warn({ err: error }, "the pod's own work was left for later");
    });
    void working.then(() => {
      if (isEnded) return;
      timer = setTimeout(next, EVERY_MS);
      timer.unref();
    });
  }
  async function begin(): Promise<void> {
    await work(deps);
    if (!isTidy) await tidy(deps);
    isTidy = true;
  }
  return {
    async [Symbol.asyncDispose]() {
      isEnded = true;
      clearTimeout(timer);
      await working;
    },
  };
}

async function work(deps: WorkDeps): Promise<void> {
  const { databases, database, disk, use, steady } = deps;
  void disk.watch();
  await databases.resume(database);
  const since = steady.now() - IDLE_MS;
  await databases.parkIdle(IDLE_MS, () => use.is_quiet && use.last_used_at < since);
}

/** What updates kept that failed, or that others have replaced. An update that is under way has kept its own just now. */
async function tidy({ manifests, sql, use }: WorkDeps): Promise<void> {
  if (!(await hasCatalog(sql))) return;
  const used = await listRuntimes(sql);
  if (use.is_quiet) manifests.keepOnly(used);
}
