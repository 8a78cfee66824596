import type { Resources } from "@appdb/contract/pod-spec";
import { BODY_SHARE, type ServiceLimits } from "@appdb/contract/service-limits";

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
function workerMemory({ memory_mb: memoryMb }: Resources): number {
  return Math.max(LEAST_WORKER_MB, Math.floor(memoryMb * WORKER_SHARE));
}

/** The maximum share of a pod's memory for what a process keeps of bodies and results, by the limit. */
const SHARES = {
  body_bytes: BODY_SHARE,
  result_bytes: 1 / 16,
  live_bytes: 1 / 16,
  made_bytes: 1 / 8,
} as const satisfies Partial<Record<keyof ServiceLimits, number>>;
const BYTES_PER_MB = 1024 * 1024;

/** The limits of a pod: those of the server, as far as its memory allows. Only pods below a gigabyte have less. */
export function limitsWithin(limits: ServiceLimits, resources: Resources): ServiceLimits {
  const within = (name: keyof typeof SHARES) =>
    Math.min(limits[name], Math.floor(resources.memory_mb * BYTES_PER_MB * SHARES[name]));
  return {
    ...limits,
    workers: resources.workers,
    worker_memory_mb: workerMemory(resources),
    body_bytes: within("body_bytes"),
    result_bytes: within("result_bytes"),
    live_bytes: within("live_bytes"),
    made_bytes: within("made_bytes"),
  };
}
