import { SqlError, type Statement } from "@appdb/engine/ports";
import type { Connection, Submittable } from "pg";
import { statementError } from "./pg-errors.ts";
import type { WireListener } from "./raw-row-reader.ts";

/** A named statement with a row reader that may be repeated. */
export interface NamedRead extends Statement {
  readonly name: string;
  readonly values?: readonly ReadValue[];
  readonly take_row: NonNullable<Statement["take_row"]>;
  readonly restart: () => void;
}

export type ReadValue = string | number | null;

/** One read of a pipeline. */
export interface PendingRead {
  readonly statement: NamedRead;
  /** Whether its caller has left. */
  readonly is_left: boolean;
  end(outcome: ReadOutcome): void;
  fail(error: unknown): void;
}

export interface ReadOutcome {
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Several reads sent to PostgreSQL together. Each keeps its own transaction, so visibility, errors and locks are the
 * same as for consecutive reads. The batch saves a PostgreSQL wake-up per read and the driver's objects per message.
 */
export class ReadPipeline implements Submittable, WireListener {
  /** Resolves when the last read has ended; with an error when the connection broke. */
  readonly over: Promise<unknown>;
  readonly #reads: readonly PendingRead[];
  readonly #onSent: (trip: ReadPipeline) => void;
  readonly #cancel: () => void;
  #isSent = false;
  #resolve: (broke?: unknown) => void = () => undefined;
  /** Index of the read whose rows are arriving. */
  #at = 0;
  #rows = 0;
  #bytes = 0;
  #refusal: SqlError | undefined;
  /** What the row reader of the current read threw. */
  #thrown: { readonly error: unknown } | undefined;
  /** Index of the last read for which a cancel was sent. */
  #stopped = -1;

  /**
   * `onSent` is called once later messages answer these reads: the end of the previous statement may arrive late.
   * `cancel` asks PostgreSQL to stop the running read; it is called at most once per read.
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

  /** Handles a caller that left: cancels its read if it runs, otherwise when its turn comes. */
  leave(read: PendingRead): void {
    if (this.#isSent && this.#reads[this.#at] === read) this.#stop();
  }

  takeRow(bytes: Buffer, start: number, end: number): void {
    const read = this.#reads[this.#at];
    if (read === undefined) return;
    const { max_bytes: maxBytes, take_row: takeRow } = read.statement;
    this.#rows += 1;
    this.#bytes += end - start;
    if (maxBytes !== undefined && this.#bytes > maxBytes) this.#stop();
    else if (this.#thrown === undefined) {
      // the stream calls this, where no one could catch
      try {
        takeRow(bytes, start, end);
      } catch (error) {
        this.#thrown = { error };
        this.#stop();
      }
    }
  }

  takeError(message: Buffer): boolean {
    this.#refusal = readError(message);
    // The server shuts down; the driver handles it.
    return this.#refusal !== undefined;
  }

  takeReady(): boolean {
    const read = this.#reads[this.#at];
    if (read === undefined) return false;
    const outcome = { rows: this.#rows, bytes: this.#bytes };
    const refusal = this.#refusal;
    const thrown = this.#thrown;
    this.#at += 1;
    this.#rows = 0;
    this.#bytes = 0;
    this.#refusal = undefined;
    this.#thrown = undefined;
    if (thrown !== undefined) read.fail(thrown.error);
    else if (refusal === undefined || outcome.bytes > (read.statement.max_bytes ?? outcome.bytes)) read.end(outcome);
    // A read hit by a cancel meant for its neighbour stays open and is retried.
    else if (read.is_left || this.#stopped < 0 || refusal.sqlstate !== CANCELLED) read.fail(refusal);
    if (this.#reads[this.#at]?.is_left === true) this.#stop();
    return this.#at < this.#reads.length;
  }

  handleReadyForQuery(): void {
    this.#resolve();
  }

  /** The connection broke. */
  handleError(error: unknown): void {
    const failure = statementError(error);
    for (const read of this.#reads.slice(this.#at)) read.fail(failure);
    this.#at = this.#reads.length;
    this.#resolve(failure);
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
  let max = 0;
  for (const { statement } of reads) {
    max += BIND_BYTES + statement.name.length * MAX_BYTES_OF_CHAR + EXECUTE_SYNC.length;
    for (const value of statement.values ?? NONE)
      max += 4 + (value === null ? 0 : String(value).length * MAX_BYTES_OF_CHAR);
  }
  const bytes = Buffer.allocUnsafe(max);
  let at = 0;
  for (const { statement } of reads) {
    const { name, values = NONE } = statement;
    const start = at;
    bytes[at] = BIND;
    bytes[at + 5] = 0;
    at += 6 + bytes.write(name, at + 6);
    bytes[at++] = 0;
    // No format codes: all values are text.
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

/** The error of PostgreSQL. Undefined when it also ends the connection. */
function readError(message: Buffer): SqlError | undefined {
  const fields = new Map<string, string>();
  for (let at = 0; at < message.length && message[at] !== 0; ) {
    const end = message.indexOf(0, at + 1);
    fields.set(String.fromCharCode(message[at] as number), message.toString("utf8", at + 1, end));
    at = end + 1;
  }
  // V is the severity that is not localized.
  if (fields.get("V") !== "ERROR") return undefined;
  return new SqlError(fields.get("M") ?? "", {
    sqlstate: fields.get("C") ?? "XX000",
    constraint: fields.get("n"),
    column: fields.get("c"),
  });
}
