import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Runtime } from "@appdb/contract/runtime";
import type { TypeKind } from "@appdb/contract/types";
import {
  type FromWorker,
  type HttpInit,
  type ToWorker,
  WORKER_PROTOCOL,
  type WorkerError,
} from "@appdb/contract/worker-protocol";
import { HAS_GROUPS, killGroup } from "@appdb/system/processes/kill-group";
import { createLineSplitter } from "@appdb/system/processes/output-lines";
import { spawnPython } from "@appdb/system/processes/spawn-python";
import { type ColumnFrame, createFrameCodec, type FrameCodec } from "./frames.ts";
import { nameOwnFiles, type OwnFiles } from "./own-files.ts";

/** Like `ownMemoryBytes`, for a process and its descendants: with a launcher, Python is its child. */
async function familyMemoryBytes(pid: number): Promise<number | undefined> {
  const own = await ownMemoryBytes(pid);
  if (own === undefined) return undefined;
  const below = await Promise.all((await childrenOf(pid)).map(familyMemoryBytes));
  return below.reduce<number>((sum, bytes) => sum + (bytes ?? 0), own);
}

async function childrenOf(pid: number): Promise<number[]> {
  try {
    const text = await readFile(`/proc/${pid}/task/${pid}/children`, "latin1");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    // same as for the process itself
    return [];
  }
}

/**
 * Memory in bytes that a process itself uses. Undefined where the system does not report it (not Linux, process gone).
 * Mapped file pages are excluded, because the system can reclaim them.
 */
async function ownMemoryBytes(pid: number): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "latin1");
    return kilobytes(status, "RssAnon") * 1024 + kilobytes(status, "RssShmem") * 1024;
  } catch {
    // The process has ended or /proc is missing. Its end is noticed elsewhere, and the worker limits its own memory.
    return undefined;
  }
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
}

/** Timeout of a worker's import of the application's modules. */
const START_TIMEOUT_MS = 120_000;
/** How long to wait for frames of an ended process, because a child of it may hold the pipe open. */
const DRAIN_MS = 250;
/** Time for a worker to exit on request. */
const EXIT_MS = 1_000;

export type ReadyFrame = Extract<FromWorker, { t: "ready" }>;
export type ProgressFrame = Exclude<FromWorker, ReadyFrame | { t: "failed" }>;

export interface WorkerProcessOptions {
  readonly runtime: Runtime;
  readonly modules: readonly string[];
  readonly memory_bytes: number;
  readonly function_timeout_ms: number;
  /** Set for a worker that answers HTTP requests only. */
  readonly http?: HttpInit;
  onOutput(line: string): void;
  onReady(frame: ReadyFrame): void;
  onFrame(frame: ProgressFrame): void;
  /** Called once, after the last frame. */
  onEnd(end: WorkerEnd): void;
}

export interface WorkerEnd {
  readonly was_ready: boolean;
  /** The worker's report when it could not import the application's modules. */
  readonly import_error: WorkerError | undefined;
  /** For display: `exit code 3`, `signal SIGKILL`. */
  readonly reason: string;
}

/** Log fields for a worker that ended, with its import error if that was the cause. */
export function describeEnd({ reason, import_error: importError }: WorkerEnd): {
  readonly reason: string;
  readonly error?: string;
} {
  return importError === undefined ? { reason } : { reason, error: `${importError.type}: ${importError.message}` };
}

/** A child process that speaks the worker protocol. Its process group ends with it. */
export class WorkerProcess {
  readonly #options: WorkerProcessOptions;
  readonly #child: ChildProcess;
  readonly #files: OwnFiles;
  readonly #codec: FrameCodec = createFrameCodec();
  readonly #timers = new Set<NodeJS.Timeout>();
  #state: "starting" | "ready" | "ended" = "starting";
  #importError: WorkerError | undefined;
  #reason: string | undefined;
  #lastLine = "";
  #outgoing: Buffer[] = [];

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    const { runtime } = options;
    this.#files = nameOwnFiles(runtime.env.APPDB_SCRATCH);
    const env = { PYTHONUNBUFFERED: "1", ...this.#files.env };
    this.#child = spawnPython(
      { runtime, args: ["-P", "-m", "appdb.worker"], env, stdin: "pipe" },
      {
        cwd: runtime.project_root,
        // A separate group: the engine handles Ctrl-C, and processes started by functions end with the worker.
        detached: HAS_GROUPS,
        windowsHide: true,
      },
    );
    this.#listen();
    this.send({
      t: "init",
      protocol: WORKER_PROTOCOL,
      project_root: options.runtime.project_root,
      modules: [...options.modules],
      memory_bytes: options.memory_bytes,
      function_timeout_ms: options.function_timeout_ms,
      http: options.http ?? null,
    });
    this.#after(START_TIMEOUT_MS, () => {
      if (this.#state === "starting") this.kill(`not ready after ${START_TIMEOUT_MS / 1000} s`);
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Memory that it uses; undefined where the system does not report it. */
  async memoryBytes(): Promise<number | undefined> {
    const { pid } = this.#child;
    if (pid === undefined) return undefined;
    return await (this.#options.runtime.launcher === undefined ? ownMemoryBytes(pid) : familyMemoryBytes(pid));
  }

  get isReady(): boolean {
    return this.#state === "ready";
  }

  /** Sends a frame together with others of the same event-loop turn. */
  send(frame: Exclude<ToWorker, ColumnFrame>): void {
    this.#write(this.#codec.encode(frame));
  }

  /** Sends a frame with columns of these kinds. */
  sendColumns(frame: ColumnFrame, kinds: readonly TypeKind[]): void {
    this.#write(this.#codec.encodeColumns(frame, kinds));
  }

  /** Lets the worker finish, then ends it; kills it after the timeout. */
  exit(withinMs = EXIT_MS): void {
    this.send({ t: "exit" });
    this.#after(withinMs, () => this.kill("asked to exit"));
  }

  /** Kills the process and everything that it started. */
  kill(reason: string): void {
    if (this.#state === "ended") return;
    this.#reason ??= reason;
    killGroup(this.#child);
  }

  #listen(): void {
    const lines = createLineSplitter((line) => {
      if (line.trim() !== "") this.#lastLine = line;
      this.#options.onOutput(line);
    });
    const child = this.#child;
    child.stderr?.on("data", (bytes: Buffer) => lines.push(bytes));
    child.stdout?.on("data", (bytes: Buffer) => this.#receive(bytes));
    // A broken pipe means that the worker ended, which `exit` reports.
    child.stdin?.on("error", () => {});
    child.on("error", (error) => this.#end(`cannot be started: ${error.message}`));
    child.on("exit", (code, signal) => {
      killGroup(child);
      const reason = signal === null ? `exit code ${code}` : `signal ${signal}`;
      const end = () => {
        lines.end();
        this.#end(reason);
      };
      child.on("close", end);
      this.#after(DRAIN_MS, end);
    });
  }

  #receive(bytes: Buffer): void {
    try {
      this.#codec.push(bytes, (frame) => this.#handle(frame));
    } catch (error) {
      this.kill(`its answers cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #handle(frame: FromWorker): void {
    if (this.#state === "ended") return;
    if (frame.t === "ready") {
      if (frame.protocol !== WORKER_PROTOCOL) {
        this.kill(`it uses protocol ${frame.protocol}; expected ${WORKER_PROTOCOL}`);
        return;
      }
      this.#state = "ready";
      this.#options.onReady(frame);
    } else if (frame.t === "failed") {
      this.#importError = frame.error;
    } else {
      this.#options.onFrame(frame);
    }
  }

  #write(bytes: Buffer): void {
    if (this.#outgoing.push(bytes) > 1) return;
    process.nextTick(() => {
      const frames = this.#outgoing;
      this.#outgoing = [];
      if (this.#child.stdin?.writable) {
        this.#child.stdin.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames));
      }
    });
  }

  #end(reason: string): void {
    if (this.#state === "ended") return;
    const wasReady = this.#state === "ready";
    this.#state = "ended";
    this.#files.removeLater();
    for (const timer of this.#timers) clearTimeout(timer);
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy();
    const lastLines = wasReady || this.#lastLine === "" ? "" : ` (${this.#lastLine.trim()})`;
    this.#options.onEnd({
      was_ready: wasReady,
      import_error: this.#importError,
      reason: (this.#reason ?? reason) + lastLines,
    });
  }

  #after(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }
}
