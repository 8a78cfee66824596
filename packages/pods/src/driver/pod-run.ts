import { renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { endProcess } from "@appdb/system/processes/end-process";
import {
  commandLine,
  identifyProcess,
  isProcessAlive,
  type ProcessIdentity,
} from "@appdb/system/processes/process-identity";
import { findFamily, killAll } from "@appdb/system/processes/process-table";
import type { ProcessEntry } from "@appdb/system/processes/systems/process-system";
import type { PodExit } from "./pod-driver.ts";
import { MARKER } from "./pod-launch.ts";
import { exitOf, type PodRecord, readRunNumber } from "./pod-state.ts";

const KILL_TIMEOUT_MS = 10_000;
/** For the shell to write down how its program ended. */
const NOTE_TIMEOUT_MS = 1_000;
const POLL_MS = 5;

/** One start of a pod as it is now. `unstarted`: whoever began it has not come to its process, or never will. */
export type PodRun =
  | { readonly state: "unstarted" }
  | { readonly state: "running"; readonly program: ProcessIdentity | undefined }
  | { readonly state: "exited"; readonly exit: PodExit };

/** Looks how a start of a pod is. The record is believed where it names the process, the run's own files where it does not yet. */
export function readRun(folder: string, record: PodRecord): PodRun {
  const runFolder = join(folder, record.id, record.run);
  const status = readRunNumber(runFolder, "exit");
  if (status !== undefined) return { state: "exited", exit: exitOf(status) };
  if (record.process !== null && isProcessAlive(record.process)) return { state: "running", program: record.process };
  const shell = findShell(runFolder);
  if (shell !== undefined) {
    const pid = readRunNumber(runFolder, "program");
    return { state: "running", program: pid === undefined ? undefined : identifyProcess(pid) };
  }
  // it may have written between the two looks, as the last thing it did
  const late = readRunNumber(runFolder, "exit");
  if (late === undefined && record.process === null) return { state: "unstarted" };
  return { state: "exited", exit: exitOf(late) };
}

/** All processes of a start of a pod, but for the shell that stands before its program. `others` are known to belong to it. */
export function runFamily(folder: string, record: PodRecord, others: readonly number[] = []): ProcessEntry[] {
  const shell = findShell(join(folder, record.id, record.run));
  const roots = [
    shell,
    record.process !== null && isProcessAlive(record.process) ? record.process.pid : undefined,
    ...others,
  ];
  const family = findFamily(
    roots.filter((pid) => pid !== undefined),
    `${MARKER}=${record.run}`,
  );
  return family.filter(({ pid }) => pid !== shell);
}

/**
 * Ends a start of a pod with all of its processes: its program is asked first, everything is killed after `grace_ms`. One that
 * was only begun is called off, so that it never starts. `findOthers` as the others of `runFamily`.
 * @throws pod_failed when the system does not let go of a process
 */
export async function endRun(
  folder: string,
  record: PodRecord,
  graceMs: number,
  findOthers: () => readonly number[] = () => [],
): Promise<void> {
  const family = () => runFamily(folder, record, findOthers());
  const runFolder = join(folder, record.id, record.run);
  const run = readRun(folder, record);
  if (run.state === "unstarted") callOff(runFolder);
  else if (run.state === "running" && run.program !== undefined) {
    await endProcess(run.program, [{ signal: "SIGTERM", wait_ms: graceMs }]);
  }
  const isEnded = await killAll(family, KILL_TIMEOUT_MS);
  const shell = findShell(runFolder) ?? findShell(calledOff(runFolder));
  const identity = shell === undefined ? undefined : identifyProcess(shell);
  if (identity !== undefined) {
    await waitForEnd(identity, NOTE_TIMEOUT_MS);
    await endProcess(identity, [{ signal: "SIGKILL", wait_ms: KILL_TIMEOUT_MS }]);
    // it may have begun the program while it was looked for
    if (await killAll(family, KILL_TIMEOUT_MS)) return;
  } else if (isEnded) return;
  const left = family().map(({ pid }) => pid);
  throw appError("pod_failed", {
    detail: `Processes of the pod ${record.id} do not end: ${left.join(", ")}.`,
    hint: "Look what they wait for: ps -o pid,stat,wchan,cmd",
    meta: { id: record.id, pids: left },
  });
}

/** The shell writes into its folder before it runs anything, and gives up when that is gone. */
function callOff(runFolder: string): void {
  try {
    renameSync(runFolder, calledOff(runFolder));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function calledOff(runFolder: string): string {
  return `${runFolder}.off`;
}

async function waitForEnd(identity: ProcessIdentity, waitMs: number): Promise<void> {
  for (const until = performance.now() + waitMs; performance.now() < until && isProcessAlive(identity); )
    await sleep(POLL_MS);
}

/** The pid of the run's shell while it lives: its number may have been given to another process, its arguments not. */
function findShell(folder: string): number | undefined {
  const pid = readRunNumber(folder, "shell");
  if (pid === undefined) return undefined;
  const runFolder = folder.replace(/\.off$/, "");
  return commandLine(pid)?.includes(runFolder) ? pid : undefined;
}
