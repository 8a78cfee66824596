import { writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import type { PodLimits } from "../driver/pod-driver.ts";
import type { ControlGroups } from "./control-groups.ts";

/** What the application's code leaves to PostgreSQL and the engine, whatever it does. */
const ENGINE_SHARE = 0.4;
const ENGINE_LEAST_MB = 128;
const ENGINE_LEAST_TASKS = 64;
/** Of the processors, when all are wanted: four to one. */
const ENGINE_WEIGHT = 40;
const CODE_WEIGHT = 10;

/** What all pods together leave to the server and its own PostgreSQL; at most half of a small machine. */
const SERVER_SHARE = 1 / 16;
const SERVER_LEAST_MB = 512;
const BYTES_PER_MB = 1024 * 1024;

/** The memory of a machine that its pods may use together. */
export function podsMemory(machineMb: number): number {
  const reserveMb = Math.max(SERVER_LEAST_MB, machineMb * SERVER_SHARE);
  return Math.floor(Math.max(machineMb - reserveMb, machineMb / 2));
}

/** Bounds all pods of the machine together: the kernel ends one of them, and never the server, when they want too much memory. */
export function boundAllPods(groups: Pick<ControlGroups, "boundMemory">, machineMb = totalmem() / BYTES_PER_MB): void {
  try {
    groups.boundMemory("", podsMemory(machineMb));
  } catch (error) {
    // pods of before this bound use more: they go on, and a start after they have ended sets it
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
  }
}

/** Groups of a pod: all pods of a database are bounded together, and in each the application's code once more. */
export interface PodGroups {
  readonly database: string;
  readonly pod: string;
  readonly engine: string;
  readonly code: string;
}

/** The names of a pod's groups. */
export function podGroups(databaseId: string, podId: string): PodGroups {
  const database = `database-${databaseId}`;
  const pod = `${database}/${podId}`;
  return { database, pod, engine: `${pod}/engine`, code: `${pod}/code` };
}

/** Makes the groups, bounds them, and lets the pod's user move its processes from one to the other. */
export function boundPod(groups: ControlGroups, names: PodGroups, limits: PodLimits, uid: number | null): void {
  for (const group of [names.engine, names.code]) groups.make(group);
  boundAllPods(groups);
  groups.bound(names.database, limits);
  groups.bound(names.code, codeLimits(limits));
  groups.weigh(names.engine, ENGINE_WEIGHT);
  groups.weigh(names.code, CODE_WEIGHT);
  if (uid !== null) for (const group of [names.pod, names.code]) groups.delegate(group, uid);
}

/** Says in a file into which group the sandbox's first step goes. */
export function enterGroup(groups: ControlGroups, group: string, runFolder: string): void {
  writeFileSync(
    join(runFolder, "groups"),
    groups
      .entrances(group)
      .map((path) => `${path}\n`)
      .join(""),
  );
}

/** What is left for the application's code when PostgreSQL and the engine have theirs. */
export function codeLimits({ cpu, memory_mb: memoryMb, tasks }: PodLimits): PodLimits {
  const engineMb = Math.min(Math.max(memoryMb * ENGINE_SHARE, ENGINE_LEAST_MB), memoryMb / 2);
  const engineTasks = Math.min(Math.max(tasks * ENGINE_SHARE, ENGINE_LEAST_TASKS), tasks / 2);
  return { cpu, memory_mb: Math.floor(memoryMb - engineMb), tasks: Math.floor(tasks - engineTasks) };
}
