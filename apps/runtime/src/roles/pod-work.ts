import { listRuntimes } from "@appdb/engine/catalog/catalog-store";
import { hasCatalog } from "@appdb/engine/catalog/load-catalog";
import type { DatabasePodDeps } from "../composition/compose-database.ts";

/** Delay of background work after a wake-up, so that the first request is fast. */
const FIRST_MS = 1_000;
const EVERY_MS = 30_000;
const COLLECT_EVERY_MS = 3_600_000;
/** Resources opened for updates or jobs are released after this time without use. */
const IDLE_MS = 60_000;

type WorkDeps = Pick<
  DatabasePodDeps,
  "databases" | "database" | "disk" | "managedStore" | "use" | "steady" | "log" | "manifests" | "sql"
>;

/**
 * Background work of a database pod: resumes jobs of earlier pods and services, watches the disk, and releases unused
 * resources. Disposing waits for running work.
 */
export function runPodWork(deps: WorkDeps): AsyncDisposable {
  let isEnded = false;
  let isTidy = false;
  let collectAt = 0;
  let working = Promise.resolve();
  let timer = setTimeout(next, FIRST_MS);
  function next(): void {
    working = begin().catch((error: unknown) => {
      // PostgreSQL may be restarting; the next round retries
      deps.log.warn({ err: error }, "background work of the pod failed and is retried later");
    });
    void working.then(() => {
      if (isEnded) return;
      timer = setTimeout(next, EVERY_MS);
      timer.unref();
    });
  }
  async function begin(): Promise<void> {
    await work(deps);
    if (!isTidy) await cleanUp(deps);
    isTidy = true;
    if (deps.steady.now() < collectAt) return;
    collectAt = deps.steady.now() + COLLECT_EVERY_MS;
    if (await hasCatalog(deps.sql)) await (await deps.managedStore()).collect();
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

/** Removes files of failed updates and of replaced ones. A running update has just stored its own. */
async function cleanUp({ manifests, sql, use }: WorkDeps): Promise<void> {
  if (!(await hasCatalog(sql))) return;
  const used = await listRuntimes(sql);
  if (use.is_quiet) manifests.retainOnly(used);
}
