import { Transform, type TransformCallback } from "node:stream";
import { errorResponse, readErrorResponse } from "@appdb/system/network/postgres-errors";

const HEAD_BYTES = 5;
/** PostgreSQL's own errors are shorter. */
const MAX_ERROR_BYTES = 65_536;
const ERROR = "E".charCodeAt(0);
const KEY_DATA = "K".charCodeAt(0);
const KEY_DATA_BYTES = 12;

const CANCELLED = "57014";
const ENDED = "57P01";
/** PostgreSQL's text for a statement that another connection cancelled. That of the time limit is another one. */
const BY_OTHERS = /due to user request/;

const CHANGED = {
  message: "A change of a table waited for this statement, so it ended (schema_changed).",
  hint: "Send the statement again when the change is done.",
};
const BLOCKED = {
  message: "Others waited for the locks of this transaction, so its connection ended.",
  hint: "Connect again. End transactions with commit or rollback soon after they read or write a table.",
};

export interface AnswersInput {
  /** Whether the client has asked to cancel a statement of PostgreSQL's process. It is asked once for each cancel. */
  takeCancel(process: number): boolean;
  /** Whether the connection of the process was ended because others waited for its locks. */
  isBlocking(process: number): boolean;
}

/** Passes what PostgreSQL sends to a client. Errors of statements and connections that others ended say why. */
export class PsqlAnswers extends Transform {
  readonly #input: AnswersInput;
  #waiting: Buffer = Buffer.alloc(0);
  /** Bytes of the current message that need no look. */
  #passing = 0;
  #process = 0;

  constructor(input: AnswersInput) {
    super();
    this.#input = input;
  }

  /** The next answer is one byte: that to a request for encryption. */
  expectByte(): void {
    this.#passing += 1;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let rest = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
    /** Bytes at the begin of the rest that pass as they are. */
    let ready = 0;
    for (;;) {
      const passed = Math.min(this.#passing, rest.length - ready);
      this.#passing -= passed;
      ready += passed;
      if (rest.length - ready < HEAD_BYTES) break;
      const type = rest[ready];
      const length = 1 + rest.readUInt32BE(ready + 1);
      if ((type !== ERROR && type !== KEY_DATA) || length > MAX_ERROR_BYTES) {
        this.#passing = length;
        continue;
      }
      if (rest.length - ready < length) break;
      const message = rest.subarray(ready, ready + length);
      const explained = type === ERROR ? this.#explain(message) : undefined;
      if (type === KEY_DATA && length >= KEY_DATA_BYTES) this.#process = message.readUInt32BE(HEAD_BYTES);
      if (explained === undefined) ready += length;
      else {
        this.push(rest.subarray(0, ready));
        this.push(explained);
        rest = rest.subarray(ready + length);
        ready = 0;
      }
    }
    if (ready > 0) this.push(rest.subarray(0, ready));
    // a copy: the client's connection gives its memory again
    this.#waiting = Buffer.from(rest.subarray(ready));
    done();
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#waiting);
  }

  #explain(message: Buffer): Buffer | undefined {
    const { message: text, severity, sqlstate } = readErrorResponse(message);
    if (sqlstate === ENDED) {
      if (!this.#input.isBlocking(this.#process)) return undefined;
      return errorResponse({ severity, sqlstate, ...BLOCKED });
    }
    if (sqlstate !== CANCELLED || !BY_OTHERS.test(text) || this.#input.takeCancel(this.#process)) return undefined;
    return errorResponse({ severity, sqlstate, ...CHANGED });
  }
}
