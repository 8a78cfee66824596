import { writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import type { PodLimits } from "../driver/pod-driver.ts";
import type { ControlGroups } from "./control-groups.ts";

/** Share of memory reserved for PostgreSQL and the engine. */
const ENGINE_SHARE = 0.4;
const ENGINE_LEAST_MB = 128;
const ENGINE_LEAST_TASKS = 64;
/** Processor weight of the engine under contention: four to one. */
const ENGINE_WEIGHT = 40;
const CODE_WEIGHT = 10;

/** Share of a pod's memory for the JavaScript heap of its program: the rest is for PostgreSQL, buffers and functions. */
const HEAP_SHARE = 0.5;
/** Node's own maximum on a large machine. */
const HEAP_MOST_MB = 4_096;
/** A pod with less memory returns freed buffers of this size at once. */
const SMALL_MB = 1_024;
const RETURNED_BYTES = String(256 * 1024);
/** Size of one half of the space for new objects, and Node's own maximum. */
const NEW_SHARE = 1 / 64;
const NEW_MOST_MB = 16;

/** Share of memory reserved for the server and its PostgreSQL; at most half of a small machine. */
const SERVER_SHARE = 1 / 16;
const SERVER_LEAST_MB = 512;
const BYTES_PER_MB = 1024 * 1024;

/** Memory that all pods of a machine may use together. */
export function podsMemory(machineMb: number): number {
  const reserveMb = Math.max(SERVER_LEAST_MB, machineMb * SERVER_SHARE);
  return Math.floor(Math.max(machineMb - reserveMb, machineMb / 2));
}

/** Limits all pods of the machine together. When memory runs out, the kernel ends a pod and never the server. */
export function boundAllPods(groups: Pick<ControlGroups, "boundMemory">, machineMb = totalmem() / BYTES_PER_MB): void {
  try {
    groups.boundMemory("", podsMemory(machineMb));
  } catch (error) {
    // older pods exceed this limit and keep running; a start after their end sets it
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
  }
}

/** Control groups of a pod. All pods of a database share limits; the application's code of each pod has its own. */
export interface PodGroups {
  readonly database: string;
  readonly pod: string;
  readonly engine: string;
  readonly code: string;
}

/** Names of a pod's groups. */
export function podGroups(databaseId: string, podId: string): PodGroups {
  const database = `database-${databaseId}`;
  const pod = `${database}/${podId}`;
  return { database, pod, engine: `${pod}/engine`, code: `${pod}/code` };
}

/** Creates and limits the groups. Lets the pod's user move processes between them. */
export function boundPod(groups: ControlGroups, names: PodGroups, limits: PodLimits, uid: number | null): void {
  for (const group of [names.engine, names.code]) groups.make(group);
  boundAllPods(groups);
  groups.bound(names.database, limits);
  groups.bound(names.code, codeLimits(limits));
  groups.weigh(names.engine, ENGINE_WEIGHT);
  groups.weigh(names.code, CODE_WEIGHT);
  if (uid !== null) for (const group of [names.pod, names.code]) groups.delegate(group, uid);
}

/** Writes the file that tells the sandbox's first step which group to join. */
export function enterGroup(groups: ControlGroups, group: string, runFolder: string): void {
  writeFileSync(
    join(runFolder, "groups"),
    groups
      .entrances(group)
      .map((path) => `${path}\n`)
      .join(""),
  );
}

/** Limits of the application's code: what PostgreSQL and the engine leave. */
export function codeLimits({ cpu, memory_mb: memoryMb, tasks }: PodLimits): PodLimits {
  const engineMb = Math.min(Math.max(memoryMb * ENGINE_SHARE, ENGINE_LEAST_MB), memoryMb / 2);
  const engineTasks = Math.min(Math.max(tasks * ENGINE_SHARE, ENGINE_LEAST_TASKS), tasks / 2);
  return { cpu, memory_mb: Math.floor(memoryMb - engineMb), tasks: Math.floor(tasks - engineTasks) };
}

/**
 * Options of Node for a pod's program. Node collects garbage in proportion to its limit, and takes that from the machine: the
 * garbage alone would exceed the memory of a small pod.
 */
export function heapOptions({ memory_mb: memoryMb }: Pick<PodLimits, "memory_mb">): string[] {
  const heapMb = Math.floor(Math.min(memoryMb * HEAP_SHARE, HEAP_MOST_MB));
  const newMb = Math.max(1, Math.floor(Math.min(memoryMb * NEW_SHARE, NEW_MOST_MB)));
  return [`--max-old-space-size=${heapMb}`, `--max-semi-space-size=${newMb}`];
}

/**
 * Settings of the C library for the processes of a small pod: it keeps large buffers that were freed for later ones, tens of
 * megabytes in each process, unless the size from which it returns them is fixed.
 */
export function allocatorSettings({ memory_mb: memoryMb }: Pick<PodLimits, "memory_mb">): Record<string, string> {
  if (memoryMb >= SMALL_MB) return {};
  return { MALLOC_MMAP_THRESHOLD_: RETURNED_BYTES, MALLOC_TRIM_THRESHOLD_: RETURNED_BYTES };
}
