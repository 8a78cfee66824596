import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isProcessAlive } from "@appdb/system/processes/process-identity";
import type { ServerEnd, ServerHandle, ServerSignal } from "./server-handle.ts";
import { asServerUser } from "./server-user.ts";
import { readLock, type SendToServer } from "./stale-locks.ts";

const START_TIMEOUT_S = 120;
const SIGNAL_TIMEOUT_MS = 10_000;
const LOOK_MS = 200;
const LAST_WORDS = 2_000;

export interface ControlledPaths {
  readonly bin: string;
  readonly data_folder: string;
  readonly log_file: string;
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * A server that `pg_ctl` starts and signals. Windows requires this: PostgreSQL refuses to run with administrator
 * rights, which pg_ctl drops, and signals are messages to a named pipe. The server is not our child process, so it is
 * watched by its pid.
 */
export class ControlledServer implements ServerHandle {
  readonly #place: Pick<ControlledPaths, "bin" | "data_folder">;
  readonly ended: Promise<ServerEnd>;
  #finish: (end: ServerEnd) => void = () => undefined;
  #pid: number | undefined;
  #end: ServerEnd | undefined;
  /** Requested to end before its pid was known. */
  #pendingSignal: ServerSignal | undefined;

  constructor(paths: Pick<ControlledPaths, "bin" | "data_folder">) {
    this.#place = paths;
    this.ended = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  get end(): ServerEnd | undefined {
    return this.#end;
  }

  signal(signal: ServerSignal): void {
    if (this.#end !== undefined) return;
    if (this.#pid === undefined) this.#pendingSignal = signal;
    else void signalServer(this.#place.bin, this.#pid, signal);
  }

  /** Starts the server. Resolves when it accepts connections; to pg_ctl's output when it failed. */
  async start(paths: ControlledPaths): Promise<string | undefined> {
    const options = Object.entries(paths.settings).map(([name, value]) => `-c "${name}=${value}"`);
    const command = asServerUser(join(paths.bin, "pg_ctl"), [
      "start",
      "-s",
      "-w",
      "-t",
      String(START_TIMEOUT_S),
      "-D",
      paths.data_folder,
      "-l",
      paths.log_file,
      "-o",
      options.join(" "),
    ]);
    const child = spawn(command.program, command.args, { stdio: ["ignore", "ignore", "pipe"], windowsHide: true });
    let output = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-LAST_WORDS);
    });
    const watching = this.#findPid();
    // not "close": the server inherits the pipe and keeps it open
    const failure = await once(child, "exit").then(
      ([code]) => (code === 0 ? undefined : output.trim() || `pg_ctl ended with code ${code}`),
      (error: Error) => `${command.program} cannot be run: ${error.message}`,
    );
    child.stderr.destroy();
    if (failure !== undefined && !this.#isAlive()) this.#stop({ code: 1, signal: null });
    await watching;
    return failure;
  }

  /** Looks for the pid until the start has ended, then watches it. */
  async #findPid(): Promise<void> {
    while (this.#end === undefined) {
      const pid = readLock(this.#place.data_folder)?.pid ?? Number.NaN;
      if (pid > 0 && isPidUsed(pid)) {
        this.#pid = pid;
        if (this.#pendingSignal !== undefined) this.signal(this.#pendingSignal);
        void this.#watch(pid);
        return;
      }
      await sleep(LOOK_MS / 4);
    }
  }

  async #watch(pid: number): Promise<void> {
    while (isPidUsed(pid)) await sleep(LOOK_MS, undefined, { ref: false });
    this.#stop({ code: null, signal: null });
  }

  #isAlive(): boolean {
    return this.#pid !== undefined && isPidUsed(this.#pid);
  }

  #stop(end: ServerEnd): void {
    this.#end ??= end;
    this.#finish(this.#end);
  }
}

/** Signals a server left by an earlier process, in the form that `endProcess` takes. */
export function sendByPgCtl(bin: string): SendToServer {
  return (server, signal) => {
    if (!isProcessAlive(server)) return false;
    void signalServer(bin, server.pid, signal as ServerSignal);
    return true;
  };
}

/** Signals a server with pg_ctl, or with the system for SIGKILL. The server's end shows whether the signal arrived. */
async function signalServer(bin: string, pid: number, signal: ServerSignal): Promise<void> {
  if (signal === "SIGKILL") {
    if (isPidUsed(pid)) process.kill(pid, signal);
    return;
  }
  const command = asServerUser(join(bin, "pg_ctl"), ["kill", signal.slice("SIG".length), String(pid)]);
  await new Promise<void>((resolve) => {
    const options = { timeout: SIGNAL_TIMEOUT_MS, windowsHide: true };
    execFile(command.program, command.args, options, () => resolve());
  });
}

function isPidUsed(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
