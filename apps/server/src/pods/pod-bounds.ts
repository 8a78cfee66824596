import type { Resources } from "@appdb/contract/pod-spec";

/** Threads and processes of all pods of a database: PostgreSQL with its connections, supervisors, and what libraries of arrays start for
 *  each core. */
const TASKS = 1_024;
const TASKS_OF_A_WORKER = 128;
/** Of a pod's memory, for one worker at the most; what two take together is bounded by the pods' common limit. */
const WORKER_SHARE = 0.5;
const LEAST_WORKER_MB = 128;

/** Equal for all pods of a database: they are bounded together, by whichever was started last. */
export function tasksOf({ workers }: Resources): number {
  return TASKS + TASKS_OF_A_WORKER * workers;
}

/** In megabytes. */
export function workerMemory({ memory_mb: memoryMb }: Resources): number {
  return Math.max(LEAST_WORKER_MB, Math.floor(memoryMb * WORKER_SHARE));
}
