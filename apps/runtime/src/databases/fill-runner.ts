import { appError } from "@appdb/contract/errors";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import type { Logger, QueryAnswerer, UdfRunner } from "@appdb/engine/ports";
import type { RuntimeStore } from "./runtime-store.ts";

export interface FillRunnerDeps {
  readonly limits: Pick<ServiceSpec["limits"], "workers" | "function_timeout_ms" | "worker_memory_mb">;
  readonly log: Logger;
  readonly runtimes: Pick<RuntimeStore, "find">;
}

/** Creates workers for a fill with the Python and environment of the update that requested it. @throws fill_failed */
export async function createFillRunner(
  deps: FillRunnerDeps,
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
  return createPythonWorkers({
    runtime: stored.runtime,
    modules,
    workers: limits.workers,
    function_timeout_ms: limits.function_timeout_ms,
    worker_memory_mb: limits.worker_memory_mb,
    onQuery,
    log,
    onOutput: (line) => log.info({ line }, "output"),
  });
}
