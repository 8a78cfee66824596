import type { FailureAttribution } from "./failure-attribution.ts";
import type { GraphRows, QueuedRow } from "./row-queue.ts";
import type { WorkerSlot } from "./worker-slot.ts";

/** After this run time of a row, the rows behind it may move to a free worker. */
export const STUCK_MS = 50;
/** Interval of checks of time and memory while rows run. */
const WATCH_MS = 100;
const MEMORY_EVERY_TICKS = 2;
/**
 * A worker with concurrent rows sends a sign of life each second. Silence this long past all limits means that its
 * interpreter is blocked.
 */
const SILENCE_MS = 3_000;

export interface WatchLimits {
  readonly function_timeout_ms: number;
  readonly worker_memory_mb: number;
}

export interface WatchEvents {
  /** Time limit of one row of a plain graph. */
  rowLimitMs(graph: GraphRows): number;
  /** Whether the worker itself measures this limit. */
  isMeasured(graph: GraphRows): boolean;
  /** Gets the row that exceeded its limit, removed from its chunk, while its worker is being ended. */
  onTimeout(row: QueuedRow, blame: FailureAttribution): void;
  /** Whether unstarted rows would find a free worker. */
  mayMove(): boolean;
  /** Gets rows removed from a stuck worker. */
  onMove(graph: GraphRows, rows: readonly QueuedRow[]): void;
}

/** Watches workers while rows run. Ends those that exceed a limit, and frees rows behind a slow one. */
export class WorkerWatch {
  readonly #slots: readonly WorkerSlot[];
  readonly #limits: WatchLimits;
  readonly #events: WatchEvents;
  #timer: NodeJS.Timeout | undefined;
  #checkedAt = 0;
  #ticks = 0;

  constructor(slots: readonly WorkerSlot[], limits: WatchLimits, events: WatchEvents) {
    this.#slots = slots;
    this.#limits = limits;
    this.#events = events;
  }

  /** Watches until no row runs. */
  begin(): void {
    if (this.#timer !== undefined) return;
    const intervalMs = Math.min(WATCH_MS, Math.ceil(this.#limits.function_timeout_ms / 3));
    this.#checkedAt = performance.now();
    this.#timer = setInterval(() => this.#look(intervalMs), intervalMs);
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Ends a worker that exceeded a limit, and fails the row to blame, if known. */
  closeDown(slot: WorkerSlot, blame: FailureAttribution & { kind: "timeout" }, culprit: QueuedRow | undefined): void {
    if (slot.failure !== undefined) return;
    slot.failure = blame;
    slot.is_charged = culprit !== undefined;
    if (culprit !== undefined) this.#events.onTimeout(culprit, blame);
    slot.process?.kill(`a row ran longer than ${blame.timeout_ms} ms`);
  }

  #look(intervalMs: number): void {
    const now = performance.now();
    const sinceMs = now - this.#checkedAt;
    // If this process was delayed itself, unread answers come first.
    const isLate = sinceMs > 3 * intervalMs + WATCH_MS;
    this.#checkedAt = now;
    if (isLate) return;
    this.#ticks += 1;
    const busy = this.#slots.filter((slot) => slot.process !== undefined && slot.isBusy);
    for (const slot of busy) {
      this.#check(slot, now);
      this.#charge(slot, now, sinceMs);
    }
    if (busy.length === 0) this.end();
  }

  #check(slot: WorkerSlot, now: number): void {
    const { function_timeout_ms: functionTimeoutMs } = this.#limits;
    const ranMs = now - slot.progress_at;
    const first = slot.chunks[0];
    const limitMs = first === undefined ? functionTimeoutMs : this.#events.rowLimitMs(first.graph);
    // the worker measures without the time until the function begins: of a busy machine, or of a first row's imports
    const moreMs = first !== undefined && this.#events.isMeasured(first.graph) ? SILENCE_MS : 0;
    const isLate = (first !== undefined || slot.isFed) && ranMs > limitMs + moreMs;
    if (isLate && slot.failure === undefined) {
      const blame = { kind: "timeout", timeout_ms: limitMs, ...slot.culprit } as const;
      this.closeDown(slot, blame, slot.takeRunning());
    } else if (slot.flows.size > 0 && now - slot.heard_at > SILENCE_MS + this.#longestMs(slot)) {
      const { running } = slot;
      const held = running === undefined ? undefined : slot.takeRow(running.call, running.row);
      this.closeDown(slot, { kind: "timeout", timeout_ms: this.#longestMs(slot) }, held);
    } else if (ranMs > STUCK_MS && this.#events.mayMove()) {
      for (const { graph, rows } of slot.takeUnbegun()) this.#events.onMove(graph, rows);
    }
    if (this.#ticks % MEMORY_EVERY_TICKS === 0) void this.#lookAtMemory(slot);
  }

  /**
   * Counts the time that each aggregation had of the worker, and ends one that had more than a function may have. Parts
   * of it may each be quick, and answers of other work are signs of life.
   */
  #charge(slot: WorkerSlot, now: number, sinceMs: number): void {
    const { function_timeout_ms: limitMs } = this.#limits;
    const fed = [...slot.folds.values()].filter((fold) => fold.isFed);
    const shares = fed.length + (slot.chunks.length + slot.flows.size > 0 ? 1 : 0);
    for (const fold of fed) {
      if (fold.spend(sinceMs / shares) <= limitMs || slot.failure !== undefined) continue;
      // A worker without a sign of life would not read that it must stop.
      if (now - slot.progress_at > SILENCE_MS)
        this.closeDown(slot, { kind: "timeout", timeout_ms: limitMs }, undefined);
      else fold.exceed(limitMs);
    }
  }

  /** How long running work may block the interpreter: the longest of the limits. */
  #longestMs(slot: WorkerSlot): number {
    return Math.max(...[...slot.flows.values(), ...slot.chunks].map(({ graph }) => this.#events.rowLimitMs(graph)));
  }

  async #lookAtMemory(slot: WorkerSlot): Promise<void> {
    const { process, base_bytes: baseBytes } = slot;
    if (process?.pid === undefined || baseBytes === undefined) return;
    const { worker_memory_mb: workerMemoryMb } = this.#limits;
    const bytes = await process.memoryBytes();
    if (bytes === undefined || slot.process !== process || slot.failure !== undefined) return;
    if (bytes - baseBytes <= workerMemoryMb * 1024 * 1024) return;
    slot.failure = { kind: "memory", memory_mb: workerMemoryMb };
    process.kill(`it grew by more than ${workerMemoryMb} MB`);
  }
}
