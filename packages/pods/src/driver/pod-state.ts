import { readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { readTenantFile } from "@appdb/system/files/tenant-files";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import type { ProcessIdentity } from "@appdb/system/processes/process-identity";
import type { PodDriver, PodExit, PodLabels } from "./pod-driver.ts";

/**
 * A driver's record of a pod in `<folder>/<id>/pod.json`, never with the pod's input. Written before anything starts
 * with `process` null, and again when the process is known.
 */
export interface PodRecord {
  readonly id: string;
  readonly labels: PodLabels;
  /** The driver; old records without it belong to plain processes. */
  readonly driver?: PodDriver["name"];
  readonly spec_hash: string;
  readonly started_at: string;
  readonly log_folder: string;
  /** Id of this start: it writes into `<folder>/<id>/<run>`, and its processes have the id in their environment. */
  readonly run: string;
  readonly process: ProcessIdentity | null;
}

const FILE = "pod.json";
/** Longer than any number that a run's shell writes. */
const NUMBER_BYTES = 32;
/** Folders being removed and the driver's own files begin with a dot; ids never do. */
const ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Reads the pod's record. Undefined when the pod does not exist. */
export function readPodRecord(folder: string, id: string): PodRecord | undefined {
  if (!ID.test(id)) return undefined;
  const text = readIfThere(join(folder, id, FILE));
  // the driver wrote it atomically
  return text === undefined ? undefined : (JSON.parse(text) as PodRecord);
}

/** Replaces the pod's record atomically. @throws disk_full */
export function writePodRecord(folder: string, record: PodRecord): void {
  writePrivateFile(join(folder, record.id, FILE), JSON.stringify(record));
}

/** Records of all pods in the folder, sorted by id. */
export function listPodRecords(folder: string): PodRecord[] {
  const names = readIfExists(() => readdirSync(folder)) ?? [];
  return names.sort().flatMap((id) => readPodRecord(folder, id) ?? []);
}

/** Removes everything kept of a pod. Its id is free immediately. */
export function removePodRecord(folder: string, id: string, run: string): void {
  const removedFolder = join(folder, `.${id}.${run}`);
  try {
    renameSync(join(folder, id), removedFolder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  rmSync(removedFolder, { recursive: true, force: true });
}

/** Removes the files of a previous start of a pod. */
export function removeRun(folder: string, { id, run }: PodRecord): void {
  for (const name of [run, `${run}.off`]) rmSync(join(folder, id, name), { recursive: true, force: true });
}

/** Whether a pod has all requested labels. */
export function hasLabels(labels: PodLabels, selector: Partial<PodLabels>): boolean {
  return (
    (selector.organization_id ?? labels.organization_id) === labels.organization_id &&
    (selector.database_id ?? labels.database_id) === labels.database_id &&
    (selector.kind ?? labels.kind) === labels.kind
  );
}

/**
 * Decodes a process's end from a shell's exit status: 128 plus the signal number, or the exit code. Null when it was
 * not recorded. The kernel ends a process that writes a file above the limit (`taskFileBytes`) before its folders are
 * checked.
 */
export function exitOf(shellStatus: number | undefined, isOutOfMemory = false): PodExit {
  const signal = Object.entries(constants.signals).find(([, number]) => number + 128 === shellStatus)?.[0] ?? null;
  const exceeded = signal === "SIGXFSZ" ? "disk" : null;
  return { code: signal === null ? (shellStatus ?? null) : null, signal, is_out_of_memory: isOutOfMemory, exceeded };
}

/**
 * A number that a run's shell wrote: its own pid, its program's pid, or the exit status. Undefined before it is
 * written.
 */
export function readRunNumber(runFolder: string, name: "shell" | "program" | "exit"): number | undefined {
  const found = /^(\d+)\n$/.exec(readTenantFile(join(runFolder, name), NUMBER_BYTES) ?? "")?.[1];
  return found === undefined ? undefined : Number(found);
}

function readIfThere(path: string): string | undefined {
  return readIfExists(() => readFileSync(path, "utf8"), ["ENOENT", "ENOTDIR"]);
}
