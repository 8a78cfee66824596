import type { Runtime } from "@appdb/contract/runtime";
import type { Logger, QueryAnswerer } from "@appdb/engine/ports";

export interface PythonWorkersOptions {
  readonly runtime: Runtime;
  readonly modules: readonly string[];
  readonly workers: number;
  /** Time limit of one row. */
  readonly function_timeout_ms: number;
  /** Maximum memory growth of a worker after its start. */
  readonly worker_memory_mb: number;
  readonly max_waiting?: number;
  /** Answers queries of computed columns, which fail without it. */
  readonly onQuery?: QueryAnswerer;
  readonly log: Logger;
  /** Called when a process has started, also as a replacement. */
  readonly onReady?: () => void;
  /** Receives one line that user code printed. */
  onOutput(line: string): void;
}
