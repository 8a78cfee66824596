import { appError } from "@appdb/contract/errors";
import type { FromWorker, GraphFunction } from "@appdb/contract/worker-protocol";
import { workerEndHint } from "@appdb/engine/compute/worker-end";
import type { InnerRoutes } from "@appdb/engine/endpoints/app-routes";
import type { HandlerAnswer, HandlerRequest, HandlerRunner } from "@appdb/engine/handler-ports";
import { answerQuery } from "../workers/answer-query.ts";
import { overloaded } from "../workers/overloaded.ts";
import type { PythonWorkersOptions } from "../workers/python-workers-options.ts";
import { StartBackoff } from "../workers/start-backoff.ts";
import { describeEnd, type WorkerEnd, WorkerProcess } from "../workers/worker-process.ts";
import { HandlerCall, interrupted } from "./handler-call.ts";
import { HandlerProcess } from "./handler-process.ts";

/** Maximum number of running requests per process; further requests wait here. */
const MAX_CALLS = 512;
const DEFAULT_MAX_WAITING = 10_000;
/**
 * A busy process sends a sign of life each second. It counts as blocked when it is silent for this long after its time
 * limit.
 */
const SILENCE_MS = 3_000;
const LOOK_MS = 500;
/** Time for an application object to finish its work at the end. */
const EXIT_MS = 5_000;

export interface HandlerWorkersOptions extends PythonWorkersOptions {
  /** The application object of the file, if it has one. */
  readonly app: GraphFunction | null;
  /** Maximum body of a route of its routers. */
  readonly body_bytes: number;
  /** Answers calls of handlers to routes: application objects call mounted routes, all handlers may change rows. */
  readonly inside?: () => InnerRoutes;
}

/** Runs handlers in long-lived Python processes. They start at `start()` or with the first request. */
export function createHandlerWorkers(options: HandlerWorkersOptions): HandlerRunner {
  return new HandlerWorkers(options);
}

class HandlerWorkers implements HandlerRunner {
  readonly #options: HandlerWorkersOptions;
  readonly #backoff = new StartBackoff();
  /** Processes that accept requests now or soon, one per worker. */
  readonly #open: (HandlerProcess | undefined)[];
  /** Processes that end after their requests. */
  readonly #retiring = new Set<HandlerProcess>();
  #waiting: HandlerCall[] = [];
  #starters: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  #lastCall = 0;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #onProcessEnd: (() => void) | undefined;

  constructor(options: HandlerWorkersOptions) {
    this.#options = options;
    this.#open = Array.from({ length: options.workers }, () => undefined);
  }

  async serve(request: HandlerRequest): Promise<HandlerAnswer> {
    request.signal?.throwIfAborted();
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
    this.#lastCall += 1;
    const timeoutMs = request.timeout_ms ?? this.#options.function_timeout_ms;
    const call = new HandlerCall(this.#lastCall, request, timeoutMs, (ended) => this.#onCallEnd(ended));
    this.#ensureProcesses();
    this.#waiting.push(call);
    this.#pump();
    return call.answer;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#starters.push({ resolve, reject });
      this.#ensureProcesses();
      this.#notifyStarters();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    const stopping = appError("worker_unavailable", { detail: "The workers are being stopped." });
    for (const starter of this.#starters.splice(0)) starter.reject(stopping);
    for (const call of this.#waiting.splice(0)) call.fail(stopping);
    for (const one of this.#all()) one.process.exit(EXIT_MS);
    while (this.#all().length > 0) {
      await new Promise<void>((resolve) => {
        this.#onProcessEnd = resolve;
      });
    }
    clearInterval(this.#watch);
  }

  #all(): HandlerProcess[] {
    return [...this.#open.filter((one) => one !== undefined), ...this.#retiring];
  }

  #refusal(): unknown {
    if (this.#isClosed) return appError("worker_unavailable", { detail: "The workers are being stopped." });
    if (this.#isDown()) return this.#backoff.error(this.#options.modules);
    const limit = this.#options.max_waiting ?? DEFAULT_MAX_WAITING;
    return this.#waiting.length < limit ? undefined : overloaded(this.#waiting.length, limit);
  }

  /** Sends waiting requests to the processes with the fewest. */
  #pump(): void {
    while (this.#waiting.length > 0) {
      const openSlots = this.#open.filter((one) => one?.process.isReady && one.calls.size < MAX_CALLS);
      const min = openSlots.reduce(
        (best, one) => (best === undefined || (one?.calls.size ?? 0) < best.calls.size ? one : best),
        undefined,
      );
      if (min === undefined) return;
      const call = this.#waiting.shift();
      if (call === undefined || call.hasEnded) continue;
      min.begin(call, performance.now());
      this.#watch ??= setInterval(() => this.#look(), LOOK_MS);
    }
  }

  #onFrame(one: HandlerProcess, frame: Exclude<FromWorker, { t: "ready" | "failed" }>): void {
    one.heard_at = performance.now();
    if (frame.t === "http_held") {
      this.#onHeld(one, frame);
      return;
    }
    if (frame.t === "query") {
      void answerQuery(frame, this.#options).then((answer) => one.process.send(answer));
      return;
    }
    if (frame.t === "route" || frame.t === "problem") {
      void this.#answerNested(one, frame);
      return;
    }
    if (frame.t !== "http_start" && frame.t !== "http_data" && frame.t !== "http_taken" && frame.t !== "http_failed")
      return;
    // Messages may still arrive for a call that ended here because its client left.
    const call = one.calls.get(frame.call);
    call?.take(frame);
    this.#backoff.succeeded();
    if (frame.t === "http_failed" && frame.failure.meta.type === "MemoryError") this.#retire(one);
  }

  async #answerNested(one: HandlerProcess, frame: Extract<FromWorker, { t: "route" | "problem" }>): Promise<void> {
    const inside = this.#options.inside?.();
    if (inside === undefined) throw new TypeError("no one serves the routes of an application object here");
    const call = frame.t === "route" && frame.call !== null ? one.calls.get(frame.call) : undefined;
    const answer =
      frame.t === "route"
        ? await inside.answer(frame.route, frame.request, Buffer.from(frame.data), {
            caller: frame.caller ?? undefined,
            signal: call?.request.signal,
          })
        : await inside.problem(frame.failure, frame.id);
    one.process.send({ t: "route_answer", ask: frame.ask, ...answer });
  }

  #onCallEnd(call: HandlerCall): void {
    const { home } = call;
    if (home === undefined) return;
    home.calls.delete(call.number);
    this.#endRetired(home);
    this.#pump();
  }

  #onHeld(one: HandlerProcess, frame: Extract<FromWorker, { t: "http_held" }>): void {
    const culprit = frame.call === null ? undefined : one.calls.get(frame.call);
    culprit?.fail(
      appError("function_timeout", {
        detail: `The handler ${frame.function} ran longer than ${frame.timeout_s} s.`,
        meta: { function: frame.function, timeout_s: frame.timeout_s },
      }),
    );
    one.is_blamed = true;
    this.#retire(one);
    if (frame.is_loop) one.process.kill(`${frame.function} ran longer than ${frame.timeout_s} s`);
  }

  /** Replaces a process. It gets no further requests and ends after its last one, or at their time limit. */
  #retire(one: HandlerProcess): void {
    const index = this.#open.indexOf(one);
    if (index < 0) return;
    this.#open[index] = undefined;
    this.#retiring.add(one);
    const timer = setTimeout(
      () => one.process.kill("a handler in it could not be stopped"),
      this.#options.function_timeout_ms,
    );
    one.onEnd = () => clearTimeout(timer);
    this.#ensureProcesses();
    this.#endRetired(one);
  }

  #endRetired(one: HandlerProcess): void {
    if (one.calls.size === 0 && this.#retiring.has(one)) one.process.kill("it was replaced");
  }

  #look(): void {
    const now = performance.now();
    for (const one of this.#all()) {
      const silentMs = now - one.heard_at;
      if (one.calls.size > 0 && silentMs > this.#options.function_timeout_ms + SILENCE_MS) {
        one.process.kill(`it was silent for ${Math.round(silentMs)} ms`);
      }
    }
    if (this.#all().every((one) => one.calls.size === 0) && this.#waiting.length === 0) {
      clearInterval(this.#watch);
      this.#watch = undefined;
    }
  }

  #ensureProcesses(): void {
    if (this.#isClosed) return;
    const waitMs = this.#backoff.wait(performance.now());
    for (const [index, one] of this.#open.entries()) {
      if (one !== undefined) continue;
      if (waitMs === 0) this.#startProcess(index);
      else {
        this.#retry ??= setTimeout(() => {
          this.#retry = undefined;
          this.#ensureProcesses();
        }, waitMs);
      }
    }
  }

  #startProcess(index: number): void {
    const {
      runtime,
      modules,
      worker_memory_mb: workerMemoryMb,
      function_timeout_ms: functionTimeoutMs,
      onOutput,
      app,
      body_bytes: bodyBytes,
    } = this.#options;
    const process = new WorkerProcess({
      runtime,
      modules,
      memory_bytes: workerMemoryMb * 1024 * 1024,
      function_timeout_ms: functionTimeoutMs,
      http: { app, body_bytes: bodyBytes },
      onOutput,
      onReady: () => {
        this.#options.onReady?.();
        this.#notifyStarters();
        this.#pump();
      },
      onFrame: (frame) => this.#onFrame(one, frame),
      onEnd: (end) => this.#onEnd(one, end),
    });
    const one = new HandlerProcess(process);
    this.#open[index] = one;
  }

  #onEnd(one: HandlerProcess, end: WorkerEnd): void {
    one.onEnd?.();
    const calls = [...one.calls.values()];
    one.calls.clear();
    const wasRetiring = this.#retiring.delete(one);
    const index = this.#open.indexOf(one);
    if (index >= 0) this.#open[index] = undefined;
    for (const call of calls)
      call.fail(calls.length === 1 && !one.is_blamed ? callAborted(call, end.reason) : interrupted(call, end.reason));
    if (this.#isClosed) {
      this.#onProcessEnd?.();
      return;
    }
    if (wasRetiring) return;
    this.#options.log.warn({ worker_pid: one.process.pid, ...describeEnd(end) }, "handler worker ended");
    if (end.was_ready && one.has_worked) this.#backoff.succeeded();
    else this.#backoff.failed(end, performance.now());
    this.#ensureProcesses();
    if (this.#isDown())
      for (const call of this.#waiting.splice(0)) call.fail(this.#backoff.error(this.#options.modules));
    this.#notifyStarters();
    this.#pump();
  }

  #isDown(): boolean {
    return this.#backoff.isHopeless && this.#all().length === 0;
  }

  #notifyStarters(): void {
    if (this.#starters.length === 0) return;
    const error = this.#isDown() ? this.#backoff.error(this.#options.modules) : undefined;
    if (error === undefined && !this.#open.every((one) => one?.process.isReady)) return;
    for (const { resolve, reject } of this.#starters.splice(0)) error === undefined ? resolve() : reject(error);
  }
}

function callAborted(call: HandlerCall, reason: string): unknown {
  return appError("worker_died", {
    detail: `The worker process ended (${reason}) while it ran ${call.name}.`,
    hint: `The service's log has what it printed last. ${workerEndHint(reason)}`,
    meta: { function: call.name, reason },
  });
}
