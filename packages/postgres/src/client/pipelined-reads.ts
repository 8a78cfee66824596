import { ResultTooLarge, SqlError, type SqlResult, type Statement } from "@appdb/engine/ports";
import type { PoolClient } from "pg";
import { isConnectionLost } from "./pg-errors.ts";
import { runBounded } from "./pg-statement.ts";
import type { RawRowReader } from "./raw-row-reader.ts";
import {
  CANCELLED,
  type NamedRead,
  type PendingRead,
  type ReadOutcome,
  ReadPipeline,
  type ReadValue,
} from "./read-pipeline.ts";

/** What the pipelines need of the pool. */
export interface TripPool {
  /** Maximum number of concurrent pipelines of one statement. */
  readonly connections: number;
  acquire(): Promise<PoolClient>;
  readerOf(client: PoolClient): RawRowReader;
  /** `ended` aborts when the cancelled statement has ended. */
  cancel(client: PoolClient, ended: AbortSignal): Promise<void>;
}

/** Maximum number of reads in one batch, provided that recent run times predict that the whole batch is fast. */
const MAX_TOGETHER = 16;
const TRIP_MS = 30;
/**
 * Concurrent batches of a batched statement: one being written, one running, one being read. Other statements use all
 * connections.
 */
const SHARED_AT_A_TIME = 3;
/** Weight of a run that was faster than the average. */
const RECENT = 0.1;

/** Sends waiting reads of one statement together. A read that finds a free connection is sent immediately and alone. */
export class PipelinedReads {
  readonly #pool: TripPool;
  readonly #queues = new Map<string, Queue>();

  constructor(pool: TripPool) {
    this.#pool = pool;
  }

  /** @throws the same errors as SqlPool.query */
  read(statement: NamedRead): Promise<SqlResult> {
    const queue = this.#queueOf(statement.name);
    return new Promise((resolve, reject) => {
      queue.waiting.push(new WaitingRead(statement, resolve, reject));
      this.#start(queue);
    });
  }

  #start(queue: Queue): void {
    const max = batchesPerTrip(queue) > 1 ? SHARED_AT_A_TIME : this.#pool.connections;
    if (queue.roundTrips < max) void this.#run(queue);
  }

  #queueOf(name: string): Queue {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue: Queue = { waiting: [], roundTrips: 0, took_ms: Number.POSITIVE_INFINITY };
    this.#queues.set(name, queue);
    return queue;
  }

  /**
   * Runs while reads are waiting. Returns the connection after each batch, because others may wait for it. Never
   * rejects.
   */
  async #run(queue: Queue): Promise<void> {
    queue.roundTrips += 1;
    while (queue.waiting.length > 0) {
      await this.#roundTrip(queue);
      // Runs that became slower use more connections.
      if (queue.waiting.length > 1) this.#start(queue);
    }
    queue.roundTrips -= 1;
  }

  async #roundTrip(queue: Queue): Promise<void> {
    let client: PoolClient;
    try {
      client = await this.#pool.acquire();
    } catch (error) {
      for (const read of queue.waiting.splice(0)) read.fail(error);
      return;
    }
    const reader = this.#pool.readerOf(client);
    const [first, ...others] = takeNext(queue, (read) => reader.hasPrepared(read.statement));
    if (first === undefined) {
      client.release();
      return;
    }
    const startedAt = performance.now();
    const broke = reader.hasPrepared(first.statement)
      ? await this.#readBatch(client, reader, [first, ...others])
      : await this.#goFirst(client, reader, first);
    queue.took_ms = recent(queue.took_ms, (performance.now() - startedAt) / (1 + others.length));
    client.release(isConnectionLost(broke));
  }

  /** On the first read of a connection, the driver prepares the statement. */
  async #goFirst(client: PoolClient, reader: RawRowReader, read: WaitingRead): Promise<unknown> {
    try {
      const { row_count: rowCount } = await runBounded(client, reader, read.statement, (ended) =>
        this.#pool.cancel(client, ended),
      );
      read.end({ rows: rowCount, bytes: 0 });
      return undefined;
    } catch (error) {
      read.fail(error);
      return error;
    }
  }

  async #readBatch(client: PoolClient, reader: RawRowReader, reads: readonly WaitingRead[]): Promise<unknown> {
    const cancelling: Promise<void>[] = [];
    const over = new AbortController();
    const trip = new ReadPipeline(reads, {
      onSent: (sent) => {
        reader.listener = sent;
      },
      cancel: () => cancelling.push(this.#pool.cancel(client, over.signal)),
    });
    client.query(trip);
    for (const read of reads) read.listen(trip);
    const broke = await trip.over;
    over.abort();
    reader.listener = undefined;
    await Promise.all(cancelling);
    for (const read of reads) if (!read.is_over) this.#retry(read);
    return broke;
  }

  #retry(read: WaitingRead): void {
    read.statement.restart();
    this.#queueOf(read.statement.name).waiting.unshift(read);
  }
}

interface Queue {
  readonly waiting: WaitingRead[];
  roundTrips: number;
  /** Recent run time including the wait for PostgreSQL; infinite before the first run. */
  took_ms: number;
}

function batchesPerTrip({ took_ms: tookMs }: Queue): number {
  return Math.min(Math.max(Math.trunc(TRIP_MS / tookMs), 1), MAX_TOGETHER);
}

/** Takes the next reads and skips those whose caller left. */
function takeNext(queue: Queue, isPrepared: (read: WaitingRead) => boolean): WaitingRead[] {
  const reads: WaitingRead[] = [];
  let max = 1;
  while (reads.length < max) {
    const read = queue.waiting.shift();
    if (read === undefined) break;
    if (read.is_left) read.fail(new SqlError("its caller left before it was sent", { sqlstate: CANCELLED }));
    else if (reads.push(read) === 1 && isPrepared(read)) max = batchesPerTrip(queue);
  }
  return reads;
}

class WaitingRead implements PendingRead {
  readonly statement: NamedRead;
  is_over = false;
  readonly #resolve: (result: SqlResult) => void;
  readonly #reject: (error: unknown) => void;
  #onLeave: (() => void) | undefined;

  constructor(statement: NamedRead, resolve: (result: SqlResult) => void, reject: (error: unknown) => void) {
    this.statement = statement;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get is_left(): boolean {
    return this.statement.signal?.aborted === true;
  }

  /** Tells the pipeline when the caller leaves before the read has ended. */
  listen(trip: ReadPipeline): void {
    const { signal } = this.statement;
    if (signal === undefined) return;
    if (signal.aborted) trip.leave(this);
    this.#ignore();
    this.#onLeave = () => trip.leave(this);
    signal.addEventListener("abort", this.#onLeave);
  }

  end({ rows, bytes }: ReadOutcome): void {
    const { max_bytes: maxBytes } = this.statement;
    if (maxBytes !== undefined && bytes > maxBytes) this.fail(new ResultTooLarge(maxBytes));
    else {
      this.#settle();
      this.#resolve({ rows: NO_ROWS, row_count: rows });
    }
  }

  fail(error: unknown): void {
    this.#settle();
    this.#reject(error);
  }

  #settle(): void {
    this.is_over = true;
    this.#ignore();
  }

  #ignore(): void {
    if (this.#onLeave !== undefined) this.statement.signal?.removeEventListener("abort", this.#onLeave);
  }
}

/** Average of recent run times. A longer time counts fully at once, a shorter one gradually. */
function recent(before: number, now: number): number {
  return now < before && Number.isFinite(before) ? before + (now - before) * RECENT : now;
}

const NO_ROWS: SqlResult["rows"] = [];

/** Whether a statement can be pipelined: it may be repeated, and its values are plain. */
export function isNamedRead(statement: Statement): statement is NamedRead {
  const { name, take_row: takeRow, restart, values = [] } = statement;
  return name !== undefined && takeRow !== undefined && restart !== undefined && values.every(isPlain);
}

function isPlain(value: unknown): value is ReadValue {
  return value === null || typeof value === "string" || typeof value === "number";
}
