import { readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { readTenantFile } from "@appdb/system/files/tenant-files";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import type { ProcessIdentity } from "@appdb/system/processes/process-identity";
import type { PodDriver, PodExit, PodLabels } from "./pod-driver.ts";

/**
 * What a driver on this machine keeps of a pod, in `<folder>/<id>/pod.json`; never the pod's input. It is written before anything is
 * started, with `process` null, and again when the process is known.
 */
export interface PodRecord {
  readonly id: string;
  readonly labels: PodLabels;
  /** Whose it is; one of before it was written down is a plain process. */
  readonly driver?: PodDriver["name"];
  readonly spec_hash: string;
  readonly started_at: string;
  readonly log_folder: string;
  /** Of this start alone: `<folder>/<id>/<run>` is where it writes, and its processes carry it in their environment. */
  readonly run: string;
  readonly process: ProcessIdentity | null;
}

const FILE = "pod.json";
/** More than any number has that a run's shell writes. */
const NUMBER_BYTES = 32;
/** What is being removed, and the driver's own files, begin with a dot, which no id does. */
const ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The pod's record; undefined when there is no such pod. */
export function readPodRecord(folder: string, id: string): PodRecord | undefined {
  if (!ID.test(id)) return undefined;
  const text = readIfThere(join(folder, id, FILE));
  // we wrote it, whole or not at all
  return text === undefined ? undefined : (JSON.parse(text) as PodRecord);
}

/** Replaces the pod's record, so that readers see the old one or the new one. @throws disk_full */
export function writePodRecord(folder: string, record: PodRecord): void {
  writePrivateFile(join(folder, record.id, FILE), JSON.stringify(record));
}

/** The records of all pods of the folder, in the order of their ids. */
export function listPodRecords(folder: string): PodRecord[] {
  const names = readIfExists(() => readdirSync(folder)) ?? [];
  return names.sort().flatMap((id) => readPodRecord(folder, id) ?? []);
}

/** Removes all that is kept of a pod; its name is free at once. */
export function removePodRecord(folder: string, id: string, run: string): void {
  const gone = join(folder, `.${id}.${run}`);
  try {
    renameSync(join(folder, id), gone);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  rmSync(gone, { recursive: true, force: true });
}

/** Removes what a former start of a pod wrote. */
export function removeRun(folder: string, { id, run }: PodRecord): void {
  for (const name of [run, `${run}.off`]) rmSync(join(folder, id, name), { recursive: true, force: true });
}

/** Whether a pod has all of the labels that are asked for. */
export function hasLabels(labels: PodLabels, asked: Partial<PodLabels>): boolean {
  return (
    (asked.organization_id ?? labels.organization_id) === labels.organization_id &&
    (asked.database_id ?? labels.database_id) === labels.database_id &&
    (asked.kind ?? labels.kind) === labels.kind
  );
}

/**
 * How a process ended by what a shell says of it: 128 and the signal's number, or its code. Null when nobody saw it. The kernel ends
 * what writes a larger file than a task may (`taskFileBytes`) before its folders are looked at.
 */
export function exitOf(shellStatus: number | undefined, isOutOfMemory = false): PodExit {
  const signal = Object.entries(constants.signals).find(([, number]) => number + 128 === shellStatus)?.[0] ?? null;
  const exceeded = signal === "SIGXFSZ" ? "disk" : null;
  return { code: signal === null ? (shellStatus ?? null) : null, signal, is_out_of_memory: isOutOfMemory, exceeded };
}

/**
 * A number that a run's shell wrote: its own pid, its program's, or how that ended. Undefined while it has not.
 */
export function readRunNumber(runFolder: string, name: "shell" | "program" | "exit"): number | undefined {
  const found = /^(\d+)\n$/.exec(readTenantFile(join(runFolder, name), NUMBER_BYTES) ?? "")?.[1];
  return found === undefined ? undefined : Number(found);
}

function readIfThere(path: string): string | undefined {
  return readIfExists(() => readFileSync(path, "utf8"), ["ENOENT", "ENOTDIR"]);
}
