import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";
import type { Statement } from "@appdb/engine/ports";
import { readInt32 } from "@appdb/engine/sql/read-int32";
import type { ClientBase } from "pg";

type TakeRow = NonNullable<Statement["take_row"]>;

/** Where a connection of the driver begins to read what its stream brings. */
interface Listening {
  attachListeners(stream: Source): void;
  describe(message: unknown): void;
  /** Texts of statements by name. */
  readonly parsedStatements: Readonly<Record<string, string>>;
}

/** Whoever takes everything that answers what they sent. */
export interface WireListener {
  /** As `Statement.take_row`. */
  takeRow(bytes: Buffer, start: number, end: number): void;
  /** The fields of what PostgreSQL refused; false leaves it to the driver. */
  takeError(fields: Buffer): boolean;
  /** A statement is over; false when it was the last, which the driver is told. */
  takeReady(): boolean;
}

interface Source {
  on(event: string, listener: (chunk: Buffer) => void): unknown;
}

/** Type and length of a message; the length counts itself. */
const HEADER = 5;
const DATA_ROW = "D".charCodeAt(0);
const READY_FOR_QUERY = "Z".charCodeAt(0);
const ERROR = "E".charCodeAt(0);
const BIND_COMPLETE = "2".charCodeAt(0);
const COMMAND_COMPLETE = "C".charCodeAt(0);
const READ_BYTES = 64 * 1024;

/**
 * The stream of a connection: each reads into one buffer. A new one for every piece is memory outside of the heap, so much of
 * it under load that the whole heap is collected again and again. Encrypted connections are read by their own stream.
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
 * Stands between a connection's stream and the driver's reader, which makes a string of every field. While somebody takes
 * rows they get their bytes from here; everything else goes on to the driver, whole messages at a time.
 */
export class RawRowReader {
  /** Whoever takes the rows of the running statement. */
  take: TakeRow | undefined;
  /** Whoever takes all that answers the running statements. */
  listener: WireListener | undefined;
  readonly #connection: Listening;
  /** The beginning of a message whose rest has not come yet. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #wanted = 0;
  /** While a connection is being made the driver keeps what it reads. */
  #isReady = false;

  /** Taps a client that has not connected yet. */
  constructor(client: ClientBase) {
    const connection: unknown = "connection" in client ? client.connection : undefined;
    if (!isListening(connection)) throw new TypeError("This release of pg reads its connections in another way.");
    this.#connection = connection;
    const attach = connection.attachListeners.bind(connection);
    const describe = connection.describe.bind(connection);
    // Whoever takes rows as bytes knows their fields: PostgreSQL need not name them each time.
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
    // The stream's buffer is used again for the next chunk.
    if (at < bytes.length) this.#keep(Buffer.from(bytes.subarray(at)), size);
  }

  /** Gives a message to whoever takes it. */
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

  /** Messages for the driver: theirs to keep until the connection is ready, lent from then on. */
  #lent(messages: Buffer): Buffer {
    if (this.#isReady) return messages;
    for (let at = 0; at < messages.length; at += 1 + readInt32(messages, at + 1)) {
      if (messages[at] === READY_FOR_QUERY) this.#isReady = true;
    }
    return Buffer.from(messages);
  }

  /** The chunk after what was kept; undefined while a message still lacks its end. */
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
