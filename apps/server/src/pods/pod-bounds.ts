import type { Resources } from "@appdb/contract/pod-spec";

/**
 * Threads and processes of all pods of a database: PostgreSQL, supervisors, and array libraries with a thread per core.
 */
const TASKS = 1_024;
const TASKS_OF_A_WORKER = 128;
/** The maximum share of a pod's memory for one worker. The pods' common limit bounds several workers together. */
const WORKER_SHARE = 0.5;
const LEAST_WORKER_MB = 128;

/** The same for all pods of a database: they share one limit, set by the last one started. */
export function tasksOf({ workers }: Resources): number {
  return TASKS + TASKS_OF_A_WORKER * workers;
}

/** In megabytes. */
export function workerMemory({ memory_mb: memoryMb }: Resources): number {
  return Math.max(LEAST_WORKER_MB, Math.floor(memoryMb * WORKER_SHARE));
}
