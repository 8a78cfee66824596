import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { type AppError, appError, toProblem } from "@appdb/contract/errors";
import type { ServiceRecord } from "@appdb/contract/routes/local";
import { serviceMessageSchema } from "@appdb/contract/service-spec";
import type { Clock, Logger } from "@appdb/engine/ports";
import { endChild } from "@appdb/system/processes/end-process";
import { identifyProcess, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import { createRestartPolicy, type ProcessEnd } from "./restart-policy.ts";
import type { ServiceLog } from "./service-log.ts";
import { type LocalServiceEvent, type LocalServiceState, nextLocalServiceState } from "./service-state.ts";

const START_TIMEOUT_MS = 60_000;
const LAST_LINES = 5;
/** Signals from outside; others mean a crash. */
const KILLS: ReadonlySet<NodeJS.Signals> = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"]);
const END_STEPS = [
  { signal: "SIGTERM", wait_ms: 10_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;

export interface ServiceProcessDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly service_log: ServiceLog;
  /** Starts the process with piped stdout and stderr and an IPC channel. */
  fork(): Promise<ChildProcess>;
  /** Records the process for the next daemon. */
  remember(identity: ProcessIdentity | undefined): void;
}

/**
 * Keeps one service running until `stop`. Restarts a process that ends, with increasing pauses if it ends immediately.
 */
export class ServiceProcess {
  readonly #deps: ServiceProcessDeps;
  #state: LocalServiceState = "STOPPED";
  #child: ChildProcess | undefined;
  #error: string | undefined;
  #hint: string | undefined;
  #startedAt: number | undefined;
  #restarts = 0;
  #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #waiters: (() => void)[] = [];

  constructor(deps: ServiceProcessDeps) {
    this.#deps = deps;
  }

  get state(): LocalServiceState {
    return this.#state;
  }

  /** Why it is FAILED. */
  get error(): string | undefined {
    return this.#error;
  }

  /** A hint for that, if there is one. */
  get hint(): string | undefined {
    return this.#hint;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get started_at(): number | undefined {
    return this.#startedAt;
  }

  /** Starts running it. `settled` resolves when it listens or has failed. */
  start(): void {
    this.#take("start");
    this.#error = undefined;
    this.#hint = undefined;
    this.#restarts = 0;
    this.#stopping = new AbortController();
    this.#running = this.#run(this.#stopping.signal);
  }

  /** Resolves once it is AVAILABLE, FAILED or STOPPED. */
  async settled(): Promise<void> {
    while (this.#state === "STARTING" || this.#state === "STOPPING") {
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  /** Lets the process finish its requests, then ends it. Safe to repeat. */
  async stop(): Promise<void> {
    this.#take("stop");
    this.#stopping.abort();
    if (this.#child !== undefined) await endChild(this.#child, END_STEPS);
    await this.#running;
    if (this.#state === "STOPPING") this.#take("stopped");
  }

  async #run(signal: AbortSignal): Promise<void> {
    const policy = createRestartPolicy();
    while (!signal.aborted) {
      const end = await this.#runOnce(signal);
      if (signal.aborted) return;
      const pauseMs = policy.next(end);
      if (pauseMs === undefined) {
        this.#error = end.reason;
        this.#hint = typeof end.problem?.hint === "string" ? end.problem.hint : undefined;
        this.#deps.log.error({ reason: end.reason }, "a service failed");
        this.#note("error", `the service is FAILED: ${end.reason}`);
        this.#take("gave_up");
        return;
      }
      this.#restarts += 1;
      this.#deps.log.warn({ reason: end.reason, pause_ms: pauseMs }, "a service ended and is restarted");
      this.#note("warn", `the service ended (${end.reason}) and is restarted`);
      this.#take("ended");
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Runs one process from its start to its end. */
  async #runOnce(signal: AbortSignal): Promise<ProcessEnd & { reason: string }> {
    const recent: string[] = [];
    let problem: ProcessEnd["problem"];
    let listeningSince: number | undefined;
    let child: ChildProcess;
    try {
      child = await this.#deps.fork();
    } catch (error) {
      const { code, detail, hint } = toProblem(error);
      if (code === "internal_error") this.#deps.log.error({ err: error }, "a service could not be started");
      return { problem: { code, detail, hint }, listened_ms: undefined, was_killed: false, reason: detail };
    }
    this.#adopt(child);
    const drained = this.#readOutput(child, recent);
    const timer = setTimeout(() => {
      problem = { code: "service_failed", detail: `it did not listen within ${START_TIMEOUT_MS / 1000} s` };
      child.kill("SIGKILL");
    }, START_TIMEOUT_MS);
    child.on("message", (message) => {
      const parsed = serviceMessageSchema.safeParse(message);
      if (!parsed.success) return;
      clearTimeout(timer);
      if (parsed.data.event === "failed") problem = parsed.data.problem;
      else if (!signal.aborted) {
        listeningSince = this.#deps.clock.now();
        this.#take("listening");
      }
    });
    // stopped while it was being started
    if (signal.aborted) void endChild(child, END_STEPS);
    const how = await exitOf(child);
    clearTimeout(timer);
    await drained;
    this.#child = undefined;
    this.#startedAt = undefined;
    this.#deps.remember(undefined);
    return {
      problem,
      listened_ms: listeningSince === undefined ? undefined : this.#deps.clock.now() - listeningSince,
      was_killed: child.signalCode !== null && KILLS.has(child.signalCode),
      reason: problem?.detail ?? [how, ...recent].join("; "),
    };
  }

  #adopt(child: ChildProcess): void {
    this.#startedAt = this.#deps.clock.now();
    this.#child = child;
    this.#deps.remember(this.#identify(child));
  }

  /** Records the process for the next daemon. An unreadable process table must not prevent the start. */
  #identify(child: ChildProcess): ProcessIdentity | undefined {
    try {
      return child.pid === undefined ? undefined : identifyProcess(child.pid);
    } catch (error) {
      this.#deps.log.warn({ err: error, service_pid: child.pid }, "a service's process could not be recorded");
      return undefined;
    }
  }

  /** Copies both streams to the log and keeps the last stderr lines, which explain a crash. */
  async #readOutput(child: ChildProcess, recent: string[]): Promise<void> {
    const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
    await Promise.all(
      streams.map(async (stream) => {
        const sink = this.#deps.service_log.createSink();
        stream.setEncoding("utf8");
        stream.on("data", (chunk: string) => {
          sink.write(chunk);
          if (stream !== child.stderr) return;
          recent.push(...chunk.split("\n").filter((line) => line.trim() !== ""));
          recent.splice(0, recent.length - LAST_LINES);
        });
        await new Promise<void>((resolve) => stream.once("close", resolve));
        sink.end();
      }),
    );
  }

  #note(level: string, msg: string): void {
    this.#deps.service_log.append(JSON.stringify({ level, time: new Date(this.#deps.clock.now()).toISOString(), msg }));
  }

  #take(event: LocalServiceEvent): void {
    this.#state = nextLocalServiceState(this.#state, event);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}

async function exitOf(child: ChildProcess): Promise<string> {
  if (child.exitCode !== null) return `it ended with code ${child.exitCode}`;
  if (child.signalCode !== null) return `it ended with ${child.signalCode}`;
  return await new Promise((resolve) => {
    child.once("error", (error) => resolve(`it could not be started: ${error.message}`));
    child.once("exit", (code, signal) =>
      resolve(signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`),
    );
  });
}

/** Error of a service that did not become AVAILABLE. */
export function serviceFailed(name: string, { error, hint }: Pick<ServiceRecord, "error" | "hint">): AppError {
  return appError("service_failed", {
    detail: `The service ${name} did not start: ${(error ?? "it ended").replace(/\.$/, "")}.`,
    hint: hint ?? `cli service logs ${name}`,
    meta: { service: name },
  });
}
