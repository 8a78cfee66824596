import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { identifyProcess, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import { openOutput } from "./pod-log.ts";
import { readRunNumber } from "./pod-state.ts";
import { waitForChild } from "./shell-wait.ts";

/**
 * Runs between the driver and the program. It records its own and the program's process before the program runs, and
 * the exit status after it, so that later drivers know. It runs nothing when its folder has been moved away, which
 * cancels a start. It is a shell because a waiting shell needs only a quarter of a megabyte. It ignores signals to the
 * whole group.
 */
const SHELL = `umask 077
run=$1
shift
trap : HUP INT TERM
echo $$ >"$run/shell" || exit 70
exec 3<&0 </dev/null
"$@" <&3 3<&- &
program=$!
exec 3<&-
echo $program >"$run/program"
${waitForChild("program")}
echo $status >"$run/exit"`;

/** Variable in the environment of all processes of a pod, wherever they moved. */
export const MARKER = "SERVICE_POD";
const POLL_MS = 2;
const START_TIMEOUT_MS = 10_000;

export interface LaunchInput {
  /** `<folder>/<id>/<run>`, not created yet. */
  readonly run_folder: string;
  readonly run: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input: string;
  readonly log_folder: string;
}

/**
 * Starts a program in its own session, so that it outlives this process. Resolves when it runs and has its whole input;
 * to null when it has already ended.
 * @throws pod_failed; the abort's reason
 */
export async function launch(launched: LaunchInput, signal: AbortSignal): Promise<ProcessIdentity | null> {
  const child = start(launched);
  child.unref();
  let failure: string | undefined;
  child.once("error", (error) => {
    failure = error.message;
  });
  child.once("exit", (code) => {
    failure ??= `it ended with code ${code} before its program ran`;
  });
  // the exit status explains a program that ends without reading its input
  child.stdin?.on("error", () => undefined);
  const fed = new Promise<void>((resolve) => child.stdin?.end(launched.input, () => resolve()));
  const until = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    signal.throwIfAborted();
    const pid = readRunNumber(launched.run_folder, "program");
    if (pid !== undefined) {
      const identity = identifyProcess(pid) ?? null;
      await Promise.race([fed, sleep(START_TIMEOUT_MS, undefined, { ref: false })]);
      return identity;
    }
    if (failure === undefined && performance.now() > until)
      failure = `it did not start within ${START_TIMEOUT_MS / 1000} s`;
    if (failure !== undefined) {
      throw appError("pod_failed", { detail: `The pod's process could not be started: ${failure}.` });
    }
    await sleep(POLL_MS);
  }
}

function start(launched: LaunchInput): ChildProcess {
  mkdirSync(launched.run_folder, { recursive: true, mode: 0o700 });
  const output = openOutput(launched.log_folder);
  try {
    return spawn("/bin/sh", ["-c", SHELL, "pod", launched.run_folder, ...launched.argv], {
      detached: true,
      stdio: ["pipe", output, output],
      env: { ...launched.env, [MARKER]: launched.run },
      cwd: "/",
    });
  } finally {
    closeSync(output);
  }
}
