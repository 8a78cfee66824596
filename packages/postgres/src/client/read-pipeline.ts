import { SqlError, type Statement } from "@appdb/engine/ports";
import type { Connection, Submittable } from "pg";
import { statementError } from "./pg-errors.ts";
import type { WireListener } from "./raw-row-reader.ts";

/** A statement by name whose rows are taken as they come, and that may run again. */
export interface NamedRead extends Statement {
  readonly name: string;
  readonly values?: readonly ReadValue[];
  readonly take_row: NonNullable<Statement["take_row"]>;
  readonly restart: () => void;
}

export type ReadValue = string | number | null;

/** One read of a trip. */
export interface PendingRead {
  readonly statement: NamedRead;
  /** Nobody waits for it any more. */
  readonly is_left: boolean;
  end(outcome: ReadOutcome): void;
  fail(error: unknown): void;
}

export interface ReadOutcome {
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Several reads that go to PostgreSQL in one piece: each a transaction of its own, so that what it sees, fails of or waits
 * for is as if they had been sent one after the other. What is saved is the waking of PostgreSQL for each of them, and the driver's own
 * objects for each message.
 */
export class ReadPipeline implements Submittable, WireListener {
  /** Resolves when the last read is over; with an error when the connection broke. */
  readonly over: Promise<unknown>;
  readonly #reads: readonly PendingRead[];
  readonly #onSent: (trip: ReadPipeline) => void;
  readonly #cancel: () => void;
  #isSent = false;
  #resolve: (broke?: unknown) => void = () => undefined;
  /** The read whose rows come. */
  #at = 0;
  #rows = 0;
  #bytes = 0;
  #refusal: SqlError | undefined;
  /** The last read for which PostgreSQL was told to stop. */
  #stopped = -1;

  /**
   * `onSent` is told when what comes from now on answers these reads: the end of the statement before may come late.
   * `cancel` tells PostgreSQL to stop what it runs; called once at most for each read.
   */
  constructor(
    reads: readonly PendingRead[],
    { onSent, cancel }: { readonly onSent: (trip: ReadPipeline) => void; readonly cancel: () => void },
  ) {
    this.#reads = reads;
    this.#onSent = onSent;
    this.#cancel = cancel;
    this.over = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  submit({ stream }: Pick<Connection, "stream">): void {
    this.#isSent = true;
    this.#onSent(this);
    stream.write(writeReads(this.#reads));
    if (this.#reads[0]?.is_left === true) this.#stop();
  }

  /** A read was left: it is stopped if it runs, else when its turn comes. */
  leave(read: PendingRead): void {
    if (this.#isSent && this.#reads[this.#at] === read) this.#stop();
  }

  takeRow(bytes: Buffer, start: number, end: number): void {
    const read = this.#reads[this.#at];
    if (read === undefined) return;
    const { most_bytes: mostBytes, take_row: takeRow } = read.statement;
    this.#rows += 1;
    this.#bytes += end - start;
    if (mostBytes === undefined || this.#bytes <= mostBytes) takeRow(bytes, start, end);
    else this.#stop();
  }

  takeError(message: Buffer): boolean {
    this.#refusal = readError(message);
    // A server that shuts down: the driver knows what to do.
    return this.#refusal !== undefined;
  }

  takeReady(): boolean {
    const read = this.#reads[this.#at];
    if (read === undefined) return false;
    const outcome = { rows: this.#rows, bytes: this.#bytes };
    const refusal = this.#refusal;
    this.#at += 1;
    this.#rows = 0;
    this.#bytes = 0;
    this.#refusal = undefined;
    if (refusal === undefined || outcome.bytes > (read.statement.most_bytes ?? outcome.bytes)) read.end(outcome);
    // Whom a cancel hit that was meant for a neighbour is left open, to go again.
    else if (read.is_left || this.#stopped < 0 || refusal.sqlstate !== CANCELLED) read.fail(refusal);
    if (this.#reads[this.#at]?.is_left === true) this.#stop();
    return this.#at < this.#reads.length;
  }

  handleReadyForQuery(): void {
    this.#resolve();
  }

  /** The connection broke. */
  handleError(error: unknown): void {
    const told = statementError(error);
    for (const read of this.#reads.slice(this.#at)) read.fail(told);
    this.#at = this.#reads.length;
    this.#resolve(told);
  }

  #stop(): void {
    if (this.#stopped === this.#at) return;
    this.#stopped = this.#at;
    this.#cancel();
  }
}

export const CANCELLED = "57014";
const EXECUTE_SYNC = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);
const BIND = 0x42;
const NONE: readonly ReadValue[] = [];
const MAX_BYTES_OF_CHAR = 3;
/** Type, length, an empty portal, the end of the name, and three counts. */
const BIND_BYTES = 5 + 1 + 1 + 6;

/** Bind, Execute and Sync of each read. */
function writeReads(reads: readonly PendingRead[]): Buffer {
  let most = 0;
  for (const { statement } of reads) {
    most += BIND_BYTES + statement.name.length * MAX_BYTES_OF_CHAR + EXECUTE_SYNC.length;
    for (const value of statement.values ?? NONE)
      most += 4 + (value === null ? 0 : String(value).length * MAX_BYTES_OF_CHAR);
  }
  const bytes = Buffer.allocUnsafe(most);
  let at = 0;
  for (const { statement } of reads) {
    const { name, values = NONE } = statement;
    const start = at;
    bytes[at] = BIND;
    bytes[at + 5] = 0;
    at += 6 + bytes.write(name, at + 6);
    bytes[at++] = 0;
    // No formats: all values are text.
    at = bytes.writeInt16BE(0, at);
    at = bytes.writeInt16BE(values.length, at);
    for (const value of values) {
      const length = value === null ? -1 : bytes.write(String(value), at + 4);
      at = bytes.writeInt32BE(length, at) + Math.max(length, 0);
    }
    at = bytes.writeInt16BE(0, at);
    bytes.writeInt32BE(at - start - 1, start + 1);
    bytes.set(EXECUTE_SYNC, at);
    at += EXECUTE_SYNC.length;
  }
  return bytes.subarray(0, at);
}

/** What PostgreSQL refused; undefined when it ends the connection with that. */
function readError(message: Buffer): SqlError | undefined {
  const fields = new Map<string, string>();
  for (let at = 0; at < message.length && message[at] !== 0; ) {
    const end = message.indexOf(0, at + 1);
    fields.set(String.fromCharCode(message[at] as number), message.toString("utf8", at + 1, end));
    at = end + 1;
  }
  // V is the severity that no language of the server changes.
  if (fields.get("V") !== "ERROR") return undefined;
  return new SqlError(fields.get("M") ?? "", {
    sqlstate: fields.get("C") ?? "XX000",
    constraint: fields.get("n"),
    column: fields.get("c"),
  });
}
