import type { Runtime } from "@appdb/contract/runtime";
import type { Logger, QueryAnswerer } from "@appdb/engine/ports";

export interface PythonWorkersOptions {
  readonly runtime: Runtime;
  readonly modules: readonly string[];
  readonly workers: number;
  /** Limit of one row. */
  readonly function_timeout_ms: number;
  /** How much a worker may grow after its start. */
  readonly worker_memory_mb: number;
  readonly max_waiting?: number;
  /** Answers queries that computed columns ask; without it they fail. */
  readonly onQuery?: QueryAnswerer;
  readonly log: Logger;
  /** A process has started, at first or in the place of one that ended. */
  readonly onReady?: () => void;
  /** Takes one line that user code printed. */
  onOutput(line: string): void;
}
