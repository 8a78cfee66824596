import { appError } from "@appdb/contract/errors";
import type { EngineValue } from "@appdb/contract/types";
import type { UdfAggregation, UdfBatch, UdfFold, UdfGraph, UdfResult, UdfRunner, UdfStats } from "@appdb/engine/ports";
import { AbortWatch } from "./abort-watch.ts";
import { AggregateRun } from "./aggregate-run.ts";
import { type Chunk, isOutOfMemory, openRows, type RowsFrame } from "./chunk.ts";
import { type FailureAttribution, failedResult } from "./failure-attribution.ts";
import { overloaded } from "./overloaded.ts";
import type { PythonWorkersOptions } from "./python-workers-options.ts";
import { leastBusy, RowDispatch } from "./row-dispatch.ts";
import { type QueuedRow, RowQueue } from "./row-queue.ts";
import { StartBackoff } from "./start-backoff.ts";
import { fromWire } from "./wire-values.ts";
import { WorkerBatch } from "./worker-batch.ts";
import { describeEnd, type ProgressFrame, type ReadyFrame, type WorkerEnd, WorkerProcess } from "./worker-process.ts";
import { WorkerRequests } from "./worker-requests.ts";
import { WorkerSlot } from "./worker-slot.ts";
import { WorkerWatch } from "./worker-watch.ts";

const DEFAULT_MAX_WAITING = 10_000;
/** A worker that ends without work this soon after its start counts as a failed start. */
const SETTLED_MS = 1_000;

/**
 * Runs graphs in long-lived Python processes (`python -m appdb.worker`). They start at `start()` or with the first row.
 */
export function createPythonWorkers(options: PythonWorkersOptions): UdfRunner {
  return new PythonWorkers(options);
}

class PythonWorkers implements UdfRunner {
  readonly #options: PythonWorkersOptions;
  readonly #queue = new RowQueue();
  readonly #aborts = new AbortWatch();
  readonly #slots: WorkerSlot[];
  readonly #backoff = new StartBackoff();
  readonly #watch: WorkerWatch;
  readonly #dispatch: RowDispatch;
  readonly #requests: WorkerRequests;
  #foldWaiters: { resolve: (slot: WorkerSlot) => void; reject: (error: unknown) => void }[] = [];
  #startWaiters: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  #isPumping = false;
  #isClosed = false;
  #answered = 0;
  #restarts = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #onProcessEnd: (() => void) | undefined;

  constructor(options: PythonWorkersOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.workers }, () => new WorkerSlot());
    this.#requests = new WorkerRequests(options);
    const { functions } = this.#requests;
    this.#dispatch = new RowDispatch(this.#queue, this.#slots, functions);
    this.#watch = new WorkerWatch(this.#slots, options, {
      rowLimitMs: (graph) => functions.rowLimitMs(graph, options.function_timeout_ms),
      isMeasured: (graph) => functions.hasOnlyOwnLimits(graph),
      onTimeout: (row, blame) => this.#charge(row, blame),
      mayMove: () => this.#queue.waiting === 0 && this.#slots.some((slot) => slot.isIdle),
      onMove: (graph, rows) => {
        this.#queue.addFirst(graph, rows);
        this.#pumpSoon();
      },
    });
  }

  run(graph: UdfGraph, values: readonly EngineValue[], signal?: AbortSignal): Promise<UdfResult> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusal(signal);
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      const row: QueuedRow = {
        graph: this.#queue.graphRows(graph),
        values,
        resolve,
        reject,
        forget: undefined,
        strikes: 0,
        state: "waiting",
      };
      if (signal !== undefined) this.#listen(row, signal);
      this.#queue.add(row);
      this.#pumpSoon();
    });
  }

  runBatch(graph: UdfGraph, columns: readonly (readonly EngineValue[])[], rows: number): UdfBatch {
    const batch = new WorkerBatch(this.#queue.graphRows(graph), columns, rows);
    const refusal = this.#refusal(undefined);
    if (refusal !== undefined) batch.results.fail(refusal);
    else if (rows > 0) {
      this.#queue.addBatch(batch);
      this.#pumpSoon();
    }
    return batch.results;
  }

  async fold(aggregation: UdfAggregation): Promise<UdfFold> {
    const refusal = this.#refusal(undefined);
    if (refusal !== undefined) throw refusal;
    this.#ensureProcesses();
    const slot = leastBusy(this.#slots.filter((slot) => slot.isOpen)) ?? (await this.#openSlot());
    const call = this.#dispatch.nextCall();
    const onWork = () => {
      slot.noteFold(performance.now());
      this.#watch.begin();
    };
    const onEnd = () => slot.folds.delete(call);
    const fold = new AggregateRun(call, aggregation, slot.process as WorkerProcess, { onWork, onEnd });
    slot.folds.set(call, fold);
    return fold;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#startWaiters.push({ resolve, reject });
      this.#ensureProcesses();
      this.#notifyStarters();
    });
  }

  stats(): UdfStats {
    return {
      workers: this.#slots.filter((slot) => slot.isOpen).length,
      waiting: this.#queue.waiting,
      running: this.#slots.reduce((sum, slot) => sum + slot.rows, 0),
      calls: this.#answered,
      restarts: this.#restarts,
      functions: this.#requests.totals.all(),
      pools: this.#requests.pools.stats(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    const stopping = appError("worker_unavailable", { detail: "The workers are being stopped." });
    for (const waiter of [...this.#startWaiters.splice(0), ...this.#foldWaiters.splice(0)]) waiter.reject(stopping);
    this.#rejectWaiting(stopping);
    for (const slot of this.#slots) slot.process?.exit();
    while (this.#slots.some((slot) => slot.process !== undefined)) {
      await new Promise<void>((resolve) => {
        this.#onProcessEnd = resolve;
      });
    }
    this.#watch.end();
    this.#requests.end();
  }

  #refusal(signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return signal.reason;
    if (this.#isClosed) return appError("worker_unavailable", { detail: "The workers are being stopped." });
    if (this.#isDown()) return this.#backoff.error(this.#options.modules);
    const limit = this.#options.max_waiting ?? DEFAULT_MAX_WAITING;
    return this.#queue.waiting < limit ? undefined : overloaded(this.#queue.waiting, limit);
  }

  #listen(row: QueuedRow, signal: AbortSignal): void {
    const onAbort = () => {
      if (row.state === "waiting") this.#queue.drop();
      this.#reject(row, signal.reason);
    };
    row.forget = this.#aborts.add(signal, onAbort);
  }

  /** Sends rows of one event-loop turn together. */
  #pumpSoon(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    setImmediate(() => {
      this.#isPumping = false;
      this.#ensureProcesses();
      this.#pump();
    });
  }

  #pump(): void {
    this.#dispatch.run(performance.now());
    if (this.#slots.some((slot) => slot.isBusy)) this.#watch.begin();
  }

  /** Resolves with the next worker that is ready. */
  #openSlot(): Promise<WorkerSlot> {
    return new Promise((resolve, reject) => this.#foldWaiters.push({ resolve, reject }));
  }

  #onFrame(slot: WorkerSlot, frame: ProgressFrame): void {
    const now = performance.now();
    slot.heard_at = now;
    switch (frame.t) {
      case "at":
        slot.noteRunning(frame, now);
        return;
      case "rows":
        slot.noteRows(frame.call, now);
        this.#onRows(slot, frame);
        if (this.#queue.waiting > 0 && slot.flows.has(frame.call)) this.#pumpSoon();
        return;
      case "done":
        this.#onDone(slot, frame.call, now);
        return;
      case "overdue":
        this.#onOverdue(slot, frame);
        return;
      case "fed":
      case "folded":
        slot.progress_at = now;
        slot.folds.get(frame.call)?.take(frame);
        return;
      default:
        this.#requests.take(slot, frame);
    }
  }

  #onRows(slot: WorkerSlot, frame: RowsFrame): void {
    const taken = slot.answer(frame, (row, k) => {
      const { steps } = row.graph.graph;
      const values = steps.map(({ type }, step) => fromWire(type, frame.columns[step]?.[k] ?? null));
      this.#onResult(slot, row, { values, errors: frame.errors?.[k] ?? null });
    });
    this.#answered += taken;
  }

  #onDone(slot: WorkerSlot, call: number, now: number): void {
    const isPlain = !slot.flows.has(call);
    const chunk = slot.done(call, now);
    if (isPlain) {
      slot.progress_at = now;
      chunk.graph.pace.note(chunk.size, now - chunk.began_at);
    }
    this.#backoff.succeeded();
    if (slot.is_retiring && !slot.isBusy) slot.process?.exit();
    if (this.#queue.waiting > 0) this.#pumpSoon();
  }

  #onOverdue(slot: WorkerSlot, frame: Extract<ProgressFrame, { t: "overdue" }>): void {
    const culprit = frame.call === null ? undefined : slot.takeRow(frame.call, frame.row);
    const timeoutMs = frame.timeout_s * 1000;
    const { functions } = this.#requests;
    const known = functions.knows(frame.function) ? { function: frame.function } : {};
    this.#watch.closeDown(slot, { kind: "timeout", timeout_ms: timeoutMs, ...known }, culprit);
  }

  /** Fails a row that ended its worker. */
  #charge(row: QueuedRow, blame: FailureAttribution): void {
    const result = failedResult(row.graph.graph, blame);
    for (const error of Object.values(result.errors ?? {})) {
      if (error.kind !== "skipped") this.#requests.totals.failed(error.function);
    }
    this.#resolve(row, result);
  }

  #onResult(slot: WorkerSlot, row: QueuedRow, result: UdfResult): void {
    const isMemory = result.errors !== null && isOutOfMemory(result.errors);
    if (isMemory) slot.is_retiring = true;
    // Memory left by earlier rows may be the cause, so such a row is retried in another process.
    if (isMemory && row.strikes === 0) this.#queue.addSuspects([row]);
    else this.#resolve(row, result);
  }

  #onEnd(slot: WorkerSlot, end: WorkerEnd): void {
    const { pid } = slot.process as WorkerProcess;
    const [first, ...later] = slot.chunks;
    const flows = [...slot.flows.values()];
    const folds = [...slot.folds.values()];
    const blame = slot.failure ?? { kind: "died", reason: end.reason };
    const livedMs = performance.now() - slot.ready_at;
    const isFailedStart = !end.was_ready || (!slot.has_worked && !slot.isBusy && livedMs < SETTLED_MS);
    slot.process = undefined;
    slot.chunks = [];
    slot.flows = new Map();
    this.#requests.drop(slot);
    for (const fold of folds) fold.fail(fold.lost(blame));
    if (this.#isClosed) {
      this.#rejectChunks([...(first === undefined ? [] : [first, ...later]), ...flows]);
      this.#onProcessEnd?.();
      return;
    }
    this.#options.log.warn({ worker_pid: pid, ...describeEnd(end), kind: slot.failure?.kind }, "udf worker ended");
    if (isFailedStart) this.#backoff.failed(end, performance.now());
    else this.#backoff.succeeded();
    this.#restarts += 1;
    for (const chunk of first === undefined ? flows : [first, ...flows]) this.#retry(slot, chunk, blame);
    for (const chunk of later) this.#queue.addFirst(chunk.graph, openRows(chunk));
    this.#ensureProcesses();
    if (this.#isDown()) this.#rejectAll();
    this.#notifyStarters();
    this.#pumpSoon();
  }

  /** Handles the rows of a worker that ended: each is retried; a proven culprit fails. */
  #retry(slot: WorkerSlot, chunk: Chunk, blame: FailureAttribution): void {
    const suspectIndex = slot.running?.call === chunk.call ? slot.running.row : -1;
    const suspect = chunk.rows[suspectIndex];
    const rows = openRows(chunk);
    if (slot.is_charged) {
      this.#queue.addFirst(chunk.graph, rows);
    } else if (chunk.is_solo) {
      for (const row of rows) this.#charge(row, { ...slot.culprit, ...blame });
    } else {
      // The most likely culprit comes last, so that it delays no other row.
      const others = rows.filter((row) => row !== suspect);
      this.#queue.addSuspects(suspect === undefined ? others : [...others, suspect]);
    }
  }

  #ensureProcesses(): void {
    if (this.#isClosed) return;
    const waitMs = this.#backoff.wait(performance.now());
    for (const slot of this.#slots) {
      if (slot.process !== undefined) continue;
      if (waitMs === 0) this.#startProcess(slot);
      else this.#retryTimer ??= setTimeout(() => this.#retryStart(), waitMs);
    }
  }

  #retryStart(): void {
    this.#retryTimer = undefined;
    this.#ensureProcesses();
  }

  #startProcess(slot: WorkerSlot): void {
    const options = this.#options;
    slot.begin(
      new WorkerProcess({
        runtime: options.runtime,
        modules: options.modules,
        memory_bytes: options.worker_memory_mb * 1024 * 1024,
        function_timeout_ms: options.function_timeout_ms,
        onOutput: options.onOutput,
        onReady: (frame) => void this.#onReady(slot, frame),
        onFrame: (frame) => this.#onFrame(slot, frame),
        onEnd: (end) => this.#onEnd(slot, end),
      }),
    );
  }

  async #onReady(slot: WorkerSlot, frame: ReadyFrame): Promise<void> {
    const { process } = slot;
    this.#requests.learn(frame);
    if (process?.pid === undefined) return;
    slot.ready_at = performance.now();
    if (this.#isClosed) return;
    this.#options.onReady?.();
    this.#notifyStarters();
    for (const waiter of this.#foldWaiters.splice(0)) waiter.resolve(slot);
    this.#pump();
    const bytes = await process.memoryBytes();
    if (slot.process === process) slot.base_bytes = bytes;
  }

  /** No worker runs or starts, and the last ones could not be started. */
  #isDown(): boolean {
    return this.#backoff.isHopeless && this.#slots.every((slot) => slot.process === undefined);
  }

  #notifyStarters(): void {
    if (this.#startWaiters.length === 0) return;
    const error = this.#isDown() ? this.#backoff.error(this.#options.modules) : undefined;
    if (error === undefined && !this.#slots.every((slot) => slot.process?.isReady)) return;
    for (const waiter of this.#startWaiters.splice(0)) {
      if (error === undefined) waiter.resolve();
      else waiter.reject(error);
    }
  }

  #rejectAll(): void {
    const error = this.#backoff.error(this.#options.modules);
    this.#rejectWaiting(error);
    for (const waiter of this.#foldWaiters.splice(0)) waiter.reject(error);
  }

  #rejectWaiting(error: unknown): void {
    for (const batch of this.#queue.takeBatches()) batch.results.fail(error);
    for (const row of this.#queue.takeAll()) this.#reject(row, error);
  }

  #rejectChunks(chunks: readonly Chunk[]): void {
    const error = appError("worker_unavailable", { detail: "The workers were stopped while the row ran." });
    for (const chunk of chunks) for (const row of openRows(chunk)) this.#reject(row, error);
  }

  #resolve(row: QueuedRow, result: UdfResult): void {
    if (row.state === "answered") return;
    row.state = "answered";
    this.#answered += 1;
    row.forget?.();
    row.resolve(result);
  }

  #reject(row: QueuedRow, error: unknown): void {
    if (row.state === "answered") return;
    row.state = "answered";
    row.forget?.();
    row.reject(error);
  }
}
