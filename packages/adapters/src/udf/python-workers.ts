import { appError } from "@appdb/contract/errors";
import type { Runtime } from "@appdb/contract/routes/local";
import type { EngineValue } from "@appdb/contract/types";
import type { Logger, UdfGraph, UdfResult, UdfRunner } from "@appdb/engine/ports";
import { chargedResult } from "./charge.ts";
import { ownMemoryBytes } from "./process-memory.ts";
import { type Row, RowQueue } from "./row-queue.ts";
import { StartBackoff } from "./start-backoff.ts";
import { fromWire } from "./wire-values.ts";
import { type ProgressFrame, type WorkerEnd, WorkerProcess } from "./worker-process.ts";
import { type Chunk, WorkerSlot } from "./worker-slot.ts";
import { STUCK_MS, WorkerWatch } from "./worker-watch.ts";

const DEFAULT_MAX_WAITING = 10_000;
/** Chunks in flight per worker: the second waits in the pipe while the first runs. */
const MAX_CHUNKS = 2;
/** Waiting rows are shared out among workers, but not into chunks smaller than this. */
const MIN_SHARE_ROWS = 8;
/** A worker that ends by itself so soon after its start, without work, has not started well. */
const SETTLED_MS = 1_000;

export interface PythonWorkersOptions {
  readonly runtime: Runtime;
  readonly modules: readonly string[];
  readonly workers: number;
  /** Limit of one row. */
  readonly function_timeout_ms: number;
  /** How much a worker may grow after its start. */
  readonly worker_memory_mb: number;
  readonly max_waiting?: number;
  readonly log: Logger;
  /** Takes one line that user code printed. */
  onOutput(line: string): void;
}

/** Runs graphs in long-lived Python processes (`python -m appdb.worker`). Processes start at `start()` or the first row. */
export function createPythonWorkers(options: PythonWorkersOptions): UdfRunner {
  return new PythonWorkers(options);
}

class PythonWorkers implements UdfRunner {
  readonly #options: PythonWorkersOptions;
  readonly #queue = new RowQueue();
  readonly #slots: WorkerSlot[];
  readonly #backoff = new StartBackoff();
  readonly #watch: WorkerWatch;
  #startWaiters: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  #isPumping = false;
  #isClosed = false;
  #lastCall = 0;
  #answered = 0;
  #restarts = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #onProcessEnd: (() => void) | undefined;

  constructor(options: PythonWorkersOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.workers }, () => new WorkerSlot());
    this.#watch = new WorkerWatch(this.#slots, options, {
      onTimeout: (row, blame) => this.#resolve(row, chargedResult(row.graph.graph, blame)),
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
      const row: Row = {
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

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#startWaiters.push({ resolve, reject });
      this.#ensureProcesses();
      this.#tellStarters();
    });
  }

  stats(): ReturnType<UdfRunner["stats"]> {
    return {
      workers: this.#slots.filter((slot) => slot.isOpen).length,
      waiting: this.#queue.waiting,
      running: this.#slots.reduce((sum, slot) => sum + slot.chunks.reduce((rows, chunk) => rows + chunk.left, 0), 0),
      calls: this.#answered,
      restarts: this.#restarts,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    const stopping = appError("worker_unavailable", { detail: "The workers are being stopped." });
    for (const waiter of this.#startWaiters.splice(0)) waiter.reject(stopping);
    for (const row of this.#queue.takeAll()) this.#reject(row, stopping);
    for (const slot of this.#slots) slot.process?.exit();
    while (this.#slots.some((slot) => slot.process !== undefined)) {
      await new Promise<void>((resolve) => {
        this.#onProcessEnd = resolve;
      });
    }
    this.#watch.end();
  }

  #refusal(signal: AbortSignal | undefined): unknown {
    if (signal?.aborted) return signal.reason;
    if (this.#isClosed) return appError("worker_unavailable", { detail: "The workers are being stopped." });
    if (this.#isDown()) return this.#backoff.error(this.#options.modules);
    const limit = this.#options.max_waiting ?? DEFAULT_MAX_WAITING;
    if (this.#queue.waiting < limit) return undefined;
    return appError("overloaded", {
      detail: `${this.#queue.waiting} rows wait for a worker; ${limit} may.`,
      hint: "Send the request again in a moment, or raise the number of workers.",
      meta: { waiting: this.#queue.waiting, max_waiting: limit },
    });
  }

  #listen(row: Row, signal: AbortSignal): void {
    const onAbort = () => {
      if (row.state === "waiting") this.#queue.drop();
      this.#reject(row, signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    row.forget = () => signal.removeEventListener("abort", onAbort);
  }

  /** Rows of one turn of the event loop go out together. */
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
    const now = performance.now();
    while (this.#queue.hasSuspects) {
      const slot = this.#slots.find((one) => one.isIdle);
      const suspect = slot === undefined ? undefined : this.#queue.takeSuspect();
      if (slot === undefined || suspect === undefined) break;
      slot.run(++this.#lastCall, [suspect], true, now);
    }
    // Rows that run alone need an idle worker: none is given more until they have one.
    while (!this.#queue.hasSuspects) {
      const graph = this.#queue.next();
      if (graph === undefined) break;
      const places = this.#places(graph.pace.isFast, now);
      const slot = places[0];
      if (slot === undefined) break;
      const share = Math.max(MIN_SHARE_ROWS, Math.ceil((graph.rows.length - graph.head) / places.length));
      slot.run(++this.#lastCall, this.#queue.take(Math.min(share, graph.pace.chunkRows)), false, now);
    }
    if (this.#slots.some((slot) => slot.chunks.length > 0)) this.#watch.begin();
  }

  /** Places for a chunk, idle workers first; a worker has a second one when rows are fast and its first is not stuck. */
  #places(isFast: boolean, now: number): WorkerSlot[] {
    const idle = this.#slots.filter((slot) => slot.isIdle);
    if (!isFast) return idle;
    const second = this.#slots.filter((slot) => {
      const first = slot.chunks[0];
      if (!slot.isOpen || first === undefined || slot.chunks.length >= MAX_CHUNKS) return false;
      return !first.is_solo && first.graph.pace.isFast && now - first.began_at < STUCK_MS;
    });
    return [...idle, ...second, ...idle];
  }

  #onFrame(slot: WorkerSlot, frame: ProgressFrame): void {
    const now = performance.now();
    slot.progress_at = now;
    switch (frame.t) {
      case "at":
        slot.running = { call: frame.call, row: frame.row };
        return;
      case "rows":
        slot.running = undefined;
        slot.answer(frame, (row, k) => {
          const { steps } = row.graph.graph;
          const values = steps.map(({ type }, step) => fromWire(type, frame.columns[step]?.[k] ?? null));
          this.#onResult(slot, row, { values, errors: frame.errors?.[k] ?? null });
        });
        return;
      case "done": {
        const chunk = slot.done(frame.call, now);
        this.#backoff.succeeded();
        chunk.graph.pace.note(chunk.rows.length, now - chunk.began_at);
        if (slot.is_retiring && slot.chunks.length === 0) slot.process?.exit();
        if (this.#queue.waiting > 0) this.#pumpSoon();
      }
    }
  }

  #onResult(slot: WorkerSlot, row: Row, result: UdfResult): void {
    const isMemory = result.errors !== null && Object.values(result.errors).some((error) => error.kind === "memory");
    if (isMemory) slot.is_retiring = true;
    // What the rows before it left in memory may be to blame: such a row gets a second try in another process.
    if (isMemory && row.strikes === 0) this.#queue.addSuspects([row]);
    else this.#resolve(row, result);
  }

  #onEnd(slot: WorkerSlot, end: WorkerEnd): void {
    const { pid } = slot.process as WorkerProcess;
    const [first, ...later] = slot.chunks;
    const lived_ms = performance.now() - slot.ready_at;
    const isFailedStart = !end.was_ready || (!slot.has_worked && first === undefined && lived_ms < SETTLED_MS);
    slot.process = undefined;
    slot.chunks = [];
    if (this.#isClosed) {
      this.#rejectChunks(first === undefined ? [] : [first, ...later]);
      this.#onProcessEnd?.();
      return;
    }
    this.#options.log.warn({ pid, reason: end.reason, kind: slot.blame?.kind }, "udf worker ended");
    if (isFailedStart) this.#backoff.failed(end, performance.now());
    else this.#backoff.succeeded();
    this.#restarts += 1;
    if (first !== undefined) this.#retry(slot, first, end);
    for (const chunk of later) this.#queue.addFirst(chunk.graph, openRows(chunk));
    this.#ensureProcesses();
    if (this.#isDown()) this.#rejectAll();
    this.#tellStarters();
    this.#pumpSoon();
  }

  /** Decides what becomes of the rows whose worker ended: each runs again, the proven culprit is charged. */
  #retry(slot: WorkerSlot, chunk: Chunk, end: WorkerEnd): void {
    const suspectIndex = slot.running?.call === chunk.call ? slot.running.row : -1;
    const suspect = chunk.rows[suspectIndex];
    const rows = openRows(chunk);
    if (slot.is_charged) {
      this.#queue.addFirst(chunk.graph, rows);
    } else if (chunk.is_solo) {
      const blame = slot.blame ?? { kind: "died", reason: end.reason };
      for (const row of rows) this.#resolve(row, chargedResult(row.graph.graph, blame));
    } else {
      // The prime suspect comes last, so that it holds up no other.
      const others = rows.filter((row) => row !== suspect);
      this.#queue.addSuspects(suspect === undefined ? others : [...others, suspect]);
    }
  }

  #ensureProcesses(): void {
    if (this.#isClosed) return;
    const wait_ms = this.#backoff.wait(performance.now());
    for (const slot of this.#slots) {
      if (slot.process !== undefined) continue;
      if (wait_ms === 0) this.#startProcess(slot);
      else this.#retryTimer ??= setTimeout(() => this.#retryStart(), wait_ms);
    }
  }

  #retryStart(): void {
    this.#retryTimer = undefined;
    this.#ensureProcesses();
  }

  #startProcess(slot: WorkerSlot): void {
    const { runtime, modules, worker_memory_mb, function_timeout_ms, onOutput } = this.#options;
    slot.begin(
      new WorkerProcess({
        runtime,
        modules,
        memory_bytes: worker_memory_mb * 1024 * 1024,
        function_timeout_ms,
        onOutput,
        onReady: () => void this.#onReady(slot),
        onFrame: (frame) => this.#onFrame(slot, frame),
        onEnd: (end) => this.#onEnd(slot, end),
      }),
    );
  }

  async #onReady(slot: WorkerSlot): Promise<void> {
    const { process } = slot;
    if (process?.pid === undefined) return;
    slot.ready_at = performance.now();
    if (this.#isClosed) return;
    this.#tellStarters();
    this.#pump();
    const bytes = await ownMemoryBytes(process.pid);
    if (slot.process === process) slot.base_bytes = bytes;
  }

  /** No worker runs or starts, and the last ones could not be started. */
  #isDown(): boolean {
    return this.#backoff.isHopeless && this.#slots.every((slot) => slot.process === undefined);
  }

  #tellStarters(): void {
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
    for (const row of this.#queue.takeAll()) this.#reject(row, error);
  }

  #rejectChunks(chunks: readonly Chunk[]): void {
    const error = appError("worker_unavailable", { detail: "The workers were stopped while the row ran." });
    for (const chunk of chunks) for (const row of openRows(chunk)) this.#reject(row, error);
  }

  #resolve(row: Row, result: UdfResult): void {
    if (row.state === "answered") return;
    row.state = "answered";
    this.#answered += 1;
    row.forget?.();
    row.resolve(result);
  }

  #reject(row: Row, error: unknown): void {
    if (row.state === "answered") return;
    row.state = "answered";
    row.forget?.();
    row.reject(error);
  }
}

function openRows(chunk: Chunk): Row[] {
  return chunk.rows.filter((row) => row !== undefined);
}
