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
/** Time for the shell to record how its program ended. */
const NOTE_TIMEOUT_MS = 1_000;
const POLL_MS = 5;

/** Current state of one start of a pod. `unstarted`: the process does not exist yet, or never will. */
export type PodRun =
  | { readonly state: "unstarted" }
  | { readonly state: "running"; readonly program: ProcessIdentity | undefined }
  | { readonly state: "exited"; readonly exit: PodExit };

/** Reads the state of a start. Uses the record once it names the process, and the run's own files before. */
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
  // it may have written its last file between the two reads
  const late = readRunNumber(runFolder, "exit");
  if (late === undefined && record.process === null) return { state: "unstarted" };
  return { state: "exited", exit: exitOf(late) };
}

/** All processes of a start except the shell around its program. `others` are processes known to belong to it. */
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
 * Ends a start of a pod with all of its processes: asks the program first and kills everything after `grace_ms`. A
 * start that has not begun is cancelled. `findOthers` returns the `others` of `runFamily`.
 * @throws pod_failed when processes do not end
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
  if (run.state === "unstarted") cancelRun(runFolder);
  else if (run.state === "running" && run.program !== undefined) {
    await endProcess(run.program, [{ signal: "SIGTERM", wait_ms: graceMs }]);
  }
  const isEnded = await killAll(family, KILL_TIMEOUT_MS);
  const shell = findShell(runFolder) ?? findShell(cancelledFolder(runFolder));
  const identity = shell === undefined ? undefined : identifyProcess(shell);
  if (identity !== undefined) {
    await waitForEnd(identity, NOTE_TIMEOUT_MS);
    await endProcess(identity, [{ signal: "SIGKILL", wait_ms: KILL_TIMEOUT_MS }]);
    // it may have started the program during the search
    if (await killAll(family, KILL_TIMEOUT_MS)) return;
  } else if (isEnded) return;
  const remaining = family().map(({ pid }) => pid);
  throw appError("pod_failed", {
    detail: `Processes of the pod ${record.id} do not end: ${remaining.join(", ")}.`,
    hint: "Check what they wait for: ps -o pid,stat,wchan,cmd",
    meta: { id: record.id, pids: remaining },
  });
}

/** The shell writes into its folder before it runs anything, and gives up when the folder is gone. */
function cancelRun(runFolder: string): void {
  try {
    renameSync(runFolder, cancelledFolder(runFolder));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function cancelledFolder(runFolder: string): string {
  return `${runFolder}.off`;
}

async function waitForEnd(identity: ProcessIdentity, waitMs: number): Promise<void> {
  for (const until = performance.now() + waitMs; performance.now() < until && isProcessAlive(identity); )
    await sleep(POLL_MS);
}

/** Pid of the run's shell while it lives. Checks its arguments, because the pid may have been reused. */
function findShell(folder: string): number | undefined {
  const pid = readRunNumber(folder, "shell");
  if (pid === undefined) return undefined;
  const runFolder = folder.replace(/\.off$/, "");
  return commandLine(pid)?.includes(runFolder) ? pid : undefined;
}
