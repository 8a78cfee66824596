import { type GraphRows, type RowQueue, waitingRows } from "./row-queue.ts";
import type { WorkerFunctions } from "./worker-functions.ts";
import type { WorkerSlot } from "./worker-slot.ts";
import { STUCK_MS } from "./worker-watch.ts";

/** Maximum chunks of plain graphs in flight per worker: the second waits in the pipe while the first runs. */
const MAX_CHUNKS = 2;
/** Waiting rows are divided among workers, but not into smaller chunks than this. */
const MIN_SHARE_ROWS = 8;

/** Sends waiting rows to workers with room. */
export class RowDispatch {
  readonly #queue: RowQueue;
  readonly #slots: readonly WorkerSlot[];
  readonly #functions: WorkerFunctions;
  #lastCall = 0;

  constructor(queue: RowQueue, slots: readonly WorkerSlot[], functions: WorkerFunctions) {
    this.#queue = queue;
    this.#slots = slots;
    this.#functions = functions;
  }

  /** Next unused call number of this runner. */
  nextCall(): number {
    this.#lastCall += 1;
    return this.#lastCall;
  }

  /** Sends rows until none waits or no worker has room. */
  run(now: number): void {
    this.#runSuspects(now);
    // A suspect needs an empty worker: the one closest to that gets no further rows.
    const open = this.#slots.filter((slot) => slot.isOpen);
    const reserved = this.#queue.hasSuspects ? leastBusy(open) : undefined;
    const slots = open.filter((slot) => slot !== reserved);
    const blocked = new Set<GraphRows>();
    for (let graph = this.#queue.next(blocked); graph !== undefined; graph = this.#queue.next(blocked)) {
      if (!this.#runSome(graph, slots, now)) blocked.add(graph);
    }
  }

  #runSuspects(now: number): void {
    while (this.#queue.hasSuspects) {
      const slot = this.#slots.find((slot) => slot.isIdle);
      const suspect = slot === undefined ? undefined : this.#queue.takeSuspect();
      if (slot === undefined || suspect === undefined) return;
      const isConcurrent = this.#functions.concurrency(suspect.graph) !== undefined;
      slot.run(this.nextCall(), suspect.graph, [suspect], { is_solo: true, is_concurrent: isConcurrent }, now);
    }
  }

  /** Sends one chunk. False when no worker has room for the graph. */
  #runSome(graph: GraphRows, slots: readonly WorkerSlot[], now: number): boolean {
    const waiting = waitingRows(graph);
    const room = this.#functions.concurrency(graph);
    if (room === undefined) {
      const freeSlots = plainPlaces(slots, graph.pace.isFast, now);
      const slot = freeSlots[0];
      if (slot === undefined) return false;
      const share = Math.max(MIN_SHARE_ROWS, Math.ceil(waiting / freeSlots.length));
      const part = this.#queue.takePart(graph, Math.min(share, graph.pace.partRows));
      const load = part ?? this.#queue.take(graph, Math.min(share, graph.pace.chunkRows));
      slot.run(this.nextCall(), graph, load, { is_solo: false, is_concurrent: false }, now);
      return true;
    }
    const freeSlots = slots.filter((slot) => slot.flowing < room && !isExclusive(slot));
    const slot = leastBusy(freeSlots);
    if (slot === undefined) return false;
    const share = Math.max(MIN_SHARE_ROWS, Math.ceil(waiting / freeSlots.length));
    const rows = this.#queue.take(graph, Math.min(share, room - slot.flowing));
    slot.run(this.nextCall(), graph, rows, { is_solo: false, is_concurrent: true }, now);
    return true;
  }
}

/**
 * Slots for a chunk, idle workers first. A worker takes a second chunk when rows are fast and its first is not stuck.
 */
function plainPlaces(slots: readonly WorkerSlot[], isFast: boolean, now: number): WorkerSlot[] {
  const idle = slots.filter((slot) => slot.chunks.length === 0 && !isExclusive(slot));
  if (!isFast) return idle;
  const second = slots.filter((slot) => {
    const first = slot.chunks[0];
    if (first === undefined || slot.chunks.length >= MAX_CHUNKS) return false;
    return !first.is_solo && first.graph.pace.isFast && now - first.began_at < STUCK_MS;
  });
  return [...idle, ...second, ...idle];
}

/** Whether it runs a suspect alone. */
function isExclusive(slot: WorkerSlot): boolean {
  if (slot.chunks[0]?.is_solo) return true;
  for (const chunk of slot.flows.values()) return chunk.is_solo;
  return false;
}

/** The worker with the fewest running rows. */
export function leastBusy(slots: readonly WorkerSlot[]): WorkerSlot | undefined {
  let min: WorkerSlot | undefined;
  for (const slot of slots) if (min === undefined || slot.rows < min.rows) min = slot;
  return min;
}
