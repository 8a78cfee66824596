import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";
import type { Statement } from "@appdb/engine/ports";
import { readInt32 } from "@appdb/engine/sql/read-int32";
import type { ClientBase } from "pg";

type TakeRow = NonNullable<Statement["take_row"]>;

/** The driver's entry point for data of its stream. */
interface Listening {
  attachListeners(stream: Source): void;
  describe(message: unknown): void;
  /** Texts of prepared statements by name. */
  readonly parsedStatements: Readonly<Record<string, string>>;
}

/** Receives every message that answers the sent statements. */
export interface WireListener {
  /** Same as `Statement.take_row`. */
  takeRow(bytes: Buffer, start: number, end: number): void;
  /** Gets the fields of PostgreSQL's error; false passes it to the driver. */
  takeError(fields: Buffer): boolean;
  /** A statement has ended. False when it was the last one, which the driver must see. */
  takeReady(): boolean;
}

interface Source {
  on(event: string, listener: (chunk: Buffer) => void): unknown;
}

/** Type and length of a message. The length includes itself. */
const HEADER = 5;
const DATA_ROW = "D".charCodeAt(0);
const READY_FOR_QUERY = "Z".charCodeAt(0);
const ERROR = "E".charCodeAt(0);
const BIND_COMPLETE = "2".charCodeAt(0);
const COMMAND_COMPLETE = "C".charCodeAt(0);
const READ_BYTES = 64 * 1024;

/**
 * Stream of a connection that reads into one reused buffer. A new buffer for each chunk is memory outside the heap;
 * under load, so much of it triggers full garbage collections. Encrypted connections use their own stream.
 */
export function openStream(config?: { readonly ssl?: unknown }): Socket {
  if (config?.ssl) return new Socket();
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  const options: SocketConstructorOpts & ConnectOpts = {
    onread: {
      buffer,
      callback(bytes) {
        socket.emit("data", buffer.subarray(0, bytes));
        return true;
      },
    },
  };
  const socket: Socket = new Socket(options);
  return socket;
}

/**
 * Sits between a connection's stream and the driver's parser, which makes a string of every field. While a consumer
 * takes rows, it gets their bytes from here. All other messages go to the driver, whole messages at a time.
 */
export class RawRowReader {
  /** Consumer of the running statement's rows. */
  take: TakeRow | undefined;
  /** Consumer of all messages that answer the running statements. */
  listener: WireListener | undefined;
  readonly #connection: Listening;
  /** Start of a message whose rest has not arrived. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #wanted = 0;
  /** The driver keeps the buffers that it reads while a connection is being opened. */
  #isReady = false;

  /** Attaches to a client that has not connected yet. */
  constructor(client: ClientBase) {
    const connection: unknown = "connection" in client ? client.connection : undefined;
    if (!isListening(connection)) throw new TypeError("This release of pg reads its connections in another way.");
    this.#connection = connection;
    const attach = connection.attachListeners.bind(connection);
    const describe = connection.describe.bind(connection);
    // Consumers of raw rows know the fields, so PostgreSQL need not describe them each time.
    connection.describe = (message) => {
      if (this.take === undefined) describe(message);
    };
    connection.attachListeners = (stream) => {
      attach({
        on: (event, listener) => stream.on(event, event === "data" ? (chunk) => this.#read(chunk, listener) : listener),
      });
    };
  }

  /** Whether the connection has this statement under its name. */
  hasPrepared({ name, text }: Statement): boolean {
    return name !== undefined && this.#connection.parsedStatements[name] === text;
  }

  #read(chunk: Buffer, pass: (messages: Buffer) => void): void {
    const bytes = this.#complete(chunk);
    if (bytes === undefined) return;
    let passed = 0;
    let at = 0;
    let size = HEADER;
    while (bytes.length - at >= HEADER) {
      size = 1 + readInt32(bytes, at + 1);
      if (bytes.length - at < size) break;
      if (this.#takes(bytes, at, at + size)) {
        if (passed < at) pass(this.#lent(bytes.subarray(passed, at)));
        passed = at + size;
      }
      at += size;
      size = HEADER;
    }
    if (passed < at) pass(this.#lent(bytes.subarray(passed, at)));
    // The stream reuses its buffer for the next chunk.
    if (at < bytes.length) this.#keep(Buffer.from(bytes.subarray(at)), size);
  }

  /** Passes a message to its consumer. */
  #takes(bytes: Buffer, start: number, end: number): boolean {
    const type = bytes[start];
    const { listener } = this;
    if (listener === undefined) {
      if (type !== DATA_ROW || this.take === undefined) return false;
      this.take(bytes, start + HEADER, end);
      return true;
    }
    switch (type) {
      case DATA_ROW:
        listener.takeRow(bytes, start + HEADER, end);
        return true;
      case READY_FOR_QUERY:
        return listener.takeReady();
      case ERROR:
        return listener.takeError(bytes.subarray(start + HEADER, end));
      default:
        return type === BIND_COMPLETE || type === COMMAND_COMPLETE;
    }
  }

  /** Messages for the driver: copied until the connection is ready, then passed without a copy. */
  #lent(messages: Buffer): Buffer {
    if (this.#isReady) return messages;
    for (let at = 0; at < messages.length; at += 1 + readInt32(messages, at + 1)) {
      if (messages[at] === READY_FOR_QUERY) this.#isReady = true;
    }
    return Buffer.from(messages);
  }

  /** The chunk appended to the kept bytes. Undefined while a message is incomplete. */
  #complete(chunk: Buffer): Buffer | undefined {
    if (this.#bytes === 0) return chunk;
    this.#keep(Buffer.from(chunk), this.#wanted);
    if (this.#bytes < this.#wanted) return undefined;
    const whole = Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return whole;
  }

  #keep(part: Buffer, wanted: number): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    this.#wanted = wanted;
  }
}

function isListening(connection: unknown): connection is Listening {
  return (
    typeof connection === "object" &&
    connection !== null &&
    "attachListeners" in connection &&
    typeof connection.attachListeners === "function" &&
    "parsedStatements" in connection &&
    typeof connection.parsedStatements === "object" &&
    "describe" in connection &&
    typeof connection.describe === "function"
  );
}
