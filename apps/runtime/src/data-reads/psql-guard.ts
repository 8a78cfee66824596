import { Transform, type TransformCallback } from "node:stream";
import { PSQL_MESSAGE_BYTES, PSQL_STATEMENT_BYTES } from "@appdb/contract/routes/psql";
import { fatalResponse } from "@appdb/system/network/postgres-errors";

const PROTOCOL_3 = 3;
const CANCEL = 80_877_102;
/** TLS and GSSAPI, which PostgreSQL refuses with one byte. */
const ENCRYPTION: readonly number[] = [80_877_103, 80_877_104];
/** As in PostgreSQL. */
const MAX_STARTUP_BYTES = 10_000;
const LENGTH_BYTES = 4;
const HEAD_BYTES = 5;

/** Messages whose text is a statement: Query and Parse. */
const STATEMENTS: readonly number[] = [code("Q"), code("P")];
const FUNCTION_CALL = code("F");

const SPACES = " \t\n\r\f\v";
const CHANNELS = /\b(?:listen|notify|unlisten)\b/gi;

export interface GuardInput {
  readonly user: string;
  readonly database: string;
  /** Called with the ErrorResponse for the client when its connection is refused. */
  refuse(response: Buffer): void;
  /** Called when the client asks for encryption, which PostgreSQL answers with one byte. */
  onEncryption(): void;
  /** Called when it asks to cancel what a process of PostgreSQL does. */
  onCancel(process: number): void;
}

/**
 * Passes what a client of PostgreSQL sends. The connection must be that of its user to its database. Statements on channels are
 * refused, because every role may use those of the product and fill their queue.
 */
export function createPsqlGuard({ database, onCancel, onEncryption, refuse, user }: GuardInput): Transform {
  const waiting = new WaitingBytes();
  let state: "startup" | "messages" | "cancelled" = "startup";
  /** Bytes of the current message that need no check. */
  let passing = 0;
  let isRefused = false;

  function end(sqlstate: string, text: string): void {
    isRefused = true;
    waiting.clear();
    refuse(fatalResponse(sqlstate, text));
  }

  /** Takes what can be passed on from the waiting bytes; undefined while more are needed. */
  function take(): Buffer | undefined {
    if (passing > 0) {
      const length = Math.min(passing, waiting.length);
      passing -= length;
      return waiting.cut(length);
    }
    return state === "startup" ? takeStartup() : takeMessage();
  }

  function takeStartup(): Buffer | undefined {
    if (waiting.length < 2 * LENGTH_BYTES) return undefined;
    const length = waiting.bytes.readUInt32BE(0);
    if (length < 2 * LENGTH_BYTES || length > MAX_STARTUP_BYTES) {
      end("08P01", "The first message is not one of PostgreSQL's protocol.");
      return undefined;
    }
    if (waiting.length < length) return undefined;
    const request = waiting.bytes.readUInt32BE(LENGTH_BYTES);
    if (ENCRYPTION.includes(request)) {
      onEncryption();
      return waiting.cut(length);
    }
    if (request === CANCEL) {
      if (length >= 3 * LENGTH_BYTES) onCancel(waiting.bytes.readUInt32BE(2 * LENGTH_BYTES));
      state = "cancelled";
      return waiting.cut(length);
    }
    const given = parametersOf(waiting.bytes.subarray(2 * LENGTH_BYTES, length));
    const isOwn = given.get("user") === user && (given.get("database") ?? user) === database;
    if (request >>> 16 !== PROTOCOL_3 || !isOwn || given.has("replication")) {
      end("28000", `This connection is only for the user ${user} of the database ${database}.`);
      return undefined;
    }
    state = "messages";
    return waiting.cut(length);
  }

  function takeMessage(): Buffer | undefined {
    if (state === "cancelled") {
      waiting.clear();
      return undefined;
    }
    if (waiting.length < HEAD_BYTES) return undefined;
    const type = waiting.bytes.readUInt8(0);
    const length = waiting.bytes.readUInt32BE(1);
    if (length < LENGTH_BYTES) end("08P01", "A message is not one of PostgreSQL's protocol.");
    else if (type === FUNCTION_CALL) end("0A000", "This connection calls functions in statements only.");
    else if (length > PSQL_MESSAGE_BYTES) {
      // PostgreSQL reads a message as a whole
      end("54000", `A message has more than ${PSQL_MESSAGE_BYTES} bytes.`);
    } else if (!STATEMENTS.includes(type)) {
      passing = 1 + length;
      return take();
    } else if (length > PSQL_STATEMENT_BYTES) {
      end("54000", `A statement has more than ${PSQL_STATEMENT_BYTES} bytes.`);
    } else if (waiting.length > length) {
      const text = waiting.bytes.toString("latin1", HEAD_BYTES, 1 + length).replaceAll("\0", ";");
      if (!usesChannels(text)) return waiting.cut(1 + length);
      end("0A000", "LISTEN and NOTIFY are not available in this session.");
    }
    return undefined;
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      if (isRefused) return done();
      waiting.add(chunk);
      for (let piece = take(); piece !== undefined && piece.length > 0; piece = take()) this.push(piece);
      done();
    },
  });
}

const FIRST_BYTES = 4_096;

/** Bytes that wait for the rest of their message. Adding takes linear time, also for chunks of one byte. */
class WaitingBytes {
  #memory = Buffer.alloc(FIRST_BYTES);
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  get bytes(): Buffer {
    return this.#memory.subarray(this.#from, this.#to);
  }

  add(chunk: Buffer): void {
    if (this.#to + chunk.length > this.#memory.length) {
      const { bytes } = this;
      this.#memory = Buffer.alloc(Math.max(FIRST_BYTES, 2 * (bytes.length + chunk.length)));
      bytes.copy(this.#memory);
      [this.#from, this.#to] = [0, bytes.length];
    }
    chunk.copy(this.#memory, this.#to);
    this.#to += chunk.length;
  }

  /** Takes the first bytes. They stay valid: the memory behind them is not written again. */
  cut(length: number): Buffer {
    const piece = this.#memory.subarray(this.#from, this.#from + length);
    this.#from += length;
    return piece;
  }

  clear(): void {
    this.#from = this.#to;
  }
}

/**
 * Whether a word of channels can begin a statement: it is at the begin of the text, or behind a semicolon or a comment.
 * Texts in quotes are not distinguished, because SET can change how PostgreSQL reads quotes. Takes linear time.
 */
export function usesChannels(text: string): boolean {
  for (const { index } of text.matchAll(CHANNELS)) {
    let at = index;
    let isNextLine = false;
    while (at > 0 && SPACES.includes(text.charAt(at - 1))) {
      at -= 1;
      isNextLine ||= isLineBreak(text.charAt(at));
    }
    if (at === 0 || text.charAt(at - 1) === ";" || text.slice(Math.max(0, at - 2), at) === "*/") return true;
    if (isNextLine && isComment(text, at)) return true;
  }
  return false;
}

/** Whether the line that ends at `end` has a comment. */
function isComment(text: string, end: number): boolean {
  let at = end;
  while (at > 0 && !isLineBreak(text.charAt(at - 1))) at -= 1;
  return text.slice(at, end).includes("--");
}

function isLineBreak(character: string): boolean {
  return character === "\n" || character === "\r";
}

function parametersOf(bytes: Buffer): ReadonlyMap<string, string> {
  const words = bytes.toString("utf8").split("\0");
  const found = new Map<string, string>();
  for (let at = 0; at + 1 < words.length && words[at] !== ""; at += 2) found.set(words[at] ?? "", words[at + 1] ?? "");
  return found;
}

function code(letter: string): number {
  return letter.charCodeAt(0);
}
