import { appError } from "@appdb/contract/errors";
import type { MediaPlace } from "@appdb/contract/media-place";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import { loadDefinitions } from "@appdb/engine/catalog/load-catalog";
import { destinationsOf } from "@appdb/engine/endpoints/media-routes";
import type { JobDeps } from "@appdb/engine/jobs/job-deps";
import type { Logger, QueryAnswerer, UdfRunner } from "@appdb/engine/ports";
import type { ProgramCode } from "../code/program-code.ts";
import type { RuntimeStore } from "../code/runtime-store.ts";
import type { OpenDatabase } from "./open-databases.ts";

export interface FillRunnerDeps {
  readonly limits: Pick<ServiceSpec["limits"], "workers" | "function_timeout_ms" | "worker_memory_mb">;
  readonly log: Logger;
  readonly runtimes: Pick<RuntimeStore, "find">;
  /** Functions of running programs; undefined: there are none. */
  readonly programs?: ProgramCode;
  /** The place of a database's media, by the environment of the job. */
  mediaOf(database: string, env: Readonly<Record<string, string>>): MediaPlace;
}

/** The database of a job. */
export type JobDatabase = Pick<OpenDatabase, "name" | "sql">;

/** Creates the workers of a job. */
export type CreateFillRunner = (database: JobDatabase, ...job: Parameters<JobDeps["udf"]>) => Promise<UdfRunner>;

/** Creates workers for a fill with the Python and environment of the update that requested it. @throws fill_failed */
export async function createFillRunner(
  deps: FillRunnerDeps,
  database: JobDatabase,
  runtimeId: string,
  modules: readonly string[],
  onQuery: QueryAnswerer,
): Promise<UdfRunner> {
  const { limits, log, runtimes } = deps;
  const stored = runtimes.find(runtimeId);
  if (stored === undefined) {
    throw appError("fill_failed", {
      detail: "The Python environment of the update is no longer available.",
      hint: "Run cli schema update again.",
    });
  }
  const { createPythonWorkers } = await import("@appdb/python-runtime/workers/python-workers");
  const runtime = (await deps.programs?.extend(stored.runtime, modules, { for_job: true })) ?? stored.runtime;
  const { openMedia } = await import("../media/open-media.ts");
  const { tables } = await loadDefinitions(database.sql);
  const media = openMedia({
    place: deps.mediaOf(database.name, runtime.env),
    env: runtime.env,
    hosted: runtime.hosted,
    destinations: destinationsOf(tables),
    sql: database.sql,
    log,
  });
  const workers = createPythonWorkers({
    runtime: { ...runtime, env: media.workerEnv(runtime.env) },
    modules,
    workers: limits.workers,
    function_timeout_ms: limits.function_timeout_ms,
    worker_memory_mb: limits.worker_memory_mb,
    onQuery,
    log,
    onOutput: (line) => log.info({ line }, "output"),
  });
  const runner = media.wrap(workers);
  return {
    ...runner,
    async [Symbol.asyncDispose]() {
      await runner[Symbol.asyncDispose]();
      await media[Symbol.asyncDispose]();
    },
  };
}
