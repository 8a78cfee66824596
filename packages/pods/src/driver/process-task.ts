import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { type Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { createLineSplitter } from "@appdb/system/processes/output-lines";
import { findFamily, killAll } from "@appdb/system/processes/process-table";
import type { PodExit } from "./pod-driver.ts";
import { MARKER } from "./pod-launch.ts";
import { exitOf } from "./pod-state.ts";
import type { PodTask } from "./task-runner.ts";
import { watchTask } from "./task-watch.ts";

/** Runs the program, and kills its group when our end of the pipe closes, so that a task never outlives its caller. */
const SHELL = `exec 3<&0 </dev/null
(read -r line <&3; kill -KILL 0) >/dev/null 2>&1 &
watcher=$!
exec 3<&-
"$@"
status=$?
kill -KILL $watcher
exit $status`;

/** How to run a task's program, and which other processes belong to it. */
export interface TaskRun {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Text that it may read from descriptor 5; never in a file or an argument. */
  readonly options?: string;
  /** Processes that are not found by their ancestry. */
  processes?(): number[];
}

const KILL_TIMEOUT_MS = 10_000;
const DRAIN_TIMEOUT_MS = 1_000;

/**
 * Runs a task as a child process group with limits on time and written bytes. Its environment is the task's, with a
 * variable that marks its processes. Everything that it started is killed when it ends.
 * @throws pod_failed when it could not be started; the abort's reason
 */
export async function runProcessTask(task: PodTask, signal: AbortSignal): Promise<PodExit> {
  const { args, cwd, env, program } = task;
  return await runTask(task, { argv: [program, ...args], env, cwd }, signal);
}

/** Like `runProcessTask`, for a program that is started in another way. */
export async function runTask(task: PodTask, how: TaskRun, signal: AbortSignal): Promise<PodExit> {
  signal.throwIfAborted();
  const run = randomBytes(8).toString("hex");
  const child = spawn("/bin/sh", ["-c", SHELL, "task", ...how.argv], {
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "ignore", "ignore", how.options === undefined ? "ignore" : "pipe"],
    env: { ...how.env, [MARKER]: run },
    cwd: how.cwd,
  });
  writeOptions(child, how.options);
  const ended = endOf(child);
  const { pid } = child;
  if (pid === undefined)
    throw appError("pod_failed", { detail: `The task ${task.id} could not be started: ${await ended}.` });
  const family = () =>
    findFamily([...(isRunning(child) ? [pid] : []), ...(how.processes?.() ?? [])], `${MARKER}=${run}`);
  const endAll = () => killAll(family, KILL_TIMEOUT_MS);
  const drained = readLines(child, task.onLine);
  const watch = await watchTask(task, () => void endAll());
  const abort = () => void endAll();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  const failure = await ended;
  signal.removeEventListener("abort", abort);
  const exceeded = await watch.finish();
  const isEnded = await endAll();
  // a detached process with its own environment may hold the pipes open forever
  if (!(await Promise.race([drained.then(() => true), sleep(DRAIN_TIMEOUT_MS, false, { ref: false })]))) {
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
  signal.throwIfAborted();
  if (failure !== undefined || !isEnded) {
    const detail = failure ?? "its processes do not end";
    throw appError("pod_failed", { detail: `The task ${task.id} failed: ${detail}.` });
  }
  const code = child.signalCode === null ? (child.exitCode ?? undefined) : SIGKILL_STATUS;
  const exit = exitOf(code);
  return { ...exit, exceeded: exceeded ?? exit.exceeded };
}

function writeOptions(child: ChildProcess, options: string | undefined): void {
  const pipes: readonly (Readable | Writable | null | undefined)[] = child.stdio;
  const pipe = pipes[5];
  if (options === undefined || !(pipe instanceof Writable)) return;
  // the exit status explains a program that ends without reading them
  pipe.on("error", () => undefined);
  pipe.end(options);
}

/** A shell's status when it was killed with its group. */
const SIGKILL_STATUS = 128 + 9;

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Why it could not be started. Undefined once it has ended. */
function endOf(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", () => resolve(undefined));
  });
}

async function readLines(child: ChildProcess, onLine: (line: string) => void): Promise<void> {
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
  await Promise.all(
    streams.map(async (stream) => {
      const lines = createLineSplitter(onLine);
      stream.on("data", (bytes: Buffer) => lines.push(bytes));
      await new Promise<void>((resolve) => stream.once("close", resolve));
      lines.end();
    }),
  );
}
