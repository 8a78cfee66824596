import { type ChildProcess, execFile, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { findCheckout } from "./postgres-binaries.ts";

export const ROOT = findCheckout(import.meta.dirname);

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A temporary home and project folder, and the command on their PATH. All their processes end with it. */
export interface TestProject extends AsyncDisposable {
  readonly home: string;
  readonly folder: string;
  readonly env: Record<string, string | undefined>;
  /** Runs `cli` with these arguments in the project and returns the result for any status. */
  cli(...args: string[]): Promise<Finished>;
  /** Runs a line as a user would type it. */
  type(line: string): Promise<Finished>;
  /** Starts a line in the background. Its process group ends with the project. */
  start(line: string): Started;
  /** Pids of processes whose command line or environment names its folders. */
  processes(): number[];
}

export interface Started {
  readonly child: ChildProcess;
  /** Output so far, stdout and stderr combined. */
  output(): string;
  /** Sends the signal to the whole group, as a terminal does, and waits for the end. */
  interrupt(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface TestProjectInput {
  /** Command that is `cli` on the PATH; defaults to the checkout's. */
  readonly command?: string;
  /** Replaces the PATH of this process. */
  readonly path?: string;
  /** Settings, also for the daemon and its services. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Creates the folders. Their names contain a space and non-ASCII letters, as users' folders do. */
export function openTestProject(input: TestProjectInput = {}): TestProject {
  const parent = mkdtempSync(join(tmpdir(), "appdb é ü-"));
  chmodSync(parent, 0o755);
  const [home, folder, bin] = ["home", "my project", "bin"].map((name) => join(parent, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(folder);
  mkdirSync(bin);
  symlinkSync(input.command ?? join(ROOT, "cli"), join(bin, "cli"));
  const env = {
    ...process.env,
    ...QUIET,
    ...input.env,
    SERVICE_HOME: home,
    PATH: `${bin}${delimiter}${input.path ?? process.env.PATH}`,
  };
  const started: Started[] = [];
  const opened: TestProject = {
    home,
    folder,
    env,
    cli: (...args) => finish(join(bin, "cli"), args, { cwd: folder, env }),
    type: (line) => finish("/bin/sh", ["-c", line], { cwd: folder, env }),
    start: (line) => {
      const one = startGroup(line, { cwd: folder, env });
      started.push(one);
      return one;
    },
    processes: () => processesNaming(parent),
    [Symbol.asyncDispose]: async () => {
      for (const one of started) await one.interrupt("SIGTERM");
      if (existsSync(home)) await opened.cli("daemon", "stop");
      const left = opened.processes();
      for (const pid of left) endQuietly(pid);
      rmSync(parent, { recursive: true, force: true });
      if (left.length > 0) throw new Error(`Processes were left behind: ${left.join(", ")}`);
    },
  };
  return opened;
}

/** Removes the developer's settings that would change the product, and selects the fastest pod driver. */
const QUIET = {
  SERVICE_PODS: "process",
  VIRTUAL_ENV: undefined,
  SERVICE_LOCAL_DATABASE_URL: undefined,
  SERVICE_PG_BIN: undefined,
  NODE_OPTIONS: undefined,
  FORCE_COLOR: undefined,
};

function finish(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<Finished> {
  return new Promise((resolve) => {
    execFile(command, args, { ...options, maxBuffer: 64_000_000, timeout: 200_000 }, (error, stdout, stderr) => {
      const failed = typeof error?.code === "number" ? error.code : 1;
      resolve({ code: error === null ? 0 : failed, stdout, stderr });
    });
  });
}

function startGroup(line: string, options: SpawnOptions): Started {
  const child = spawn("/bin/sh", ["-c", `exec ${line}`], {
    ...options,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (data: Buffer) => {
      output += data.toString();
    });
  }
  const closed = once(child, "close");
  return {
    child,
    output: () => output,
    interrupt: async (signal = "SIGINT") => {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
        process.kill(-child.pid, signal);
      await closed;
      return child.exitCode;
    },
  };
}

function processesNaming(folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => ["cmdline", "environ"].some((file) => readProc(pid, file).includes(folder)))
    .map(Number);
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // it has ended, or belongs to another user
    return "";
  }
}

function endQuietly(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended
  }
}
