import type { Runtime } from "@appdb/contract/runtime";
import { StartBackoff } from "./start-backoff.ts";
import { WorkerProcess } from "./worker-process.ts";

export interface ModulesToFind {
  readonly runtime: Runtime;
  readonly modules: readonly string[];
  /** Of the worker. */
  readonly memory_mb: number;
  readonly function_timeout_ms: number;
  readonly signal: AbortSignal;
  onOutput(line: string): void;
}

/**
 * Imports modules as a worker does before its first row, and returns those that its Python does not have.
 * @throws worker_unavailable when a module cannot be imported; the abort's reason
 */
export function findMissingModules({ memory_mb, modules, signal, ...input }: ModulesToFind): Promise<string[]> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    let missing: string[] | undefined;
    const stop = () => worker.kill("the request was aborted");
    const worker = new WorkerProcess({
      ...input,
      modules,
      memory_bytes: memory_mb * 1024 * 1024,
      onReady(frame) {
        missing = Object.keys(frame.missing);
        worker.exit();
      },
      onFrame: () => undefined,
      onEnd(end) {
        signal.removeEventListener("abort", stop);
        if (missing !== undefined) return resolve(missing);
        const start = new StartBackoff();
        start.failed(end, 0);
        reject(signal.aborted ? signal.reason : start.error(modules));
      },
    });
    signal.addEventListener("abort", stop, { once: true });
  });
}
