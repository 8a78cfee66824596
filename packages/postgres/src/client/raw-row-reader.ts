import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";
import type { Duplex } from "node:stream";
import type { Statement } from "@appdb/engine/ports";
import { readInt32 } from "@appdb/engine/sql/read-int32";
import type { Connection } from "pg";

type TakeRow = NonNullable<Statement["take_row"]>;

/** Receives every message that answers the sent statements. */
export interface WireListener {
  /** Same as `Statement.take_row`. */
  takeRow(bytes: Buffer, start: number, end: number): void;
  /** Gets the fields of PostgreSQL's error; false passes it to the driver. */
  takeError(fields: Buffer): boolean;
  /** A statement has ended. False when it was the last one, which the driver must see. */
  takeReady(): boolean;
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
 * Filters what the stream of a connection brings before the driver, which makes a string of every field, reads it. A caller that
 * takes rows gets their bytes from here. The driver gets everything else, whole messages at a time.
 */
export class RawRowReader {
  /** Consumer of the running statement's rows. */
  take: TakeRow | undefined;
  /** Called for each piece that was read: the stream is paused until the promise settles. */
  pause: (() => Promise<void> | undefined) | undefined;
  /** Consumer of all messages that answer the running statements. */
  listener: WireListener | undefined;
  /** Texts of statements that the driver has prepared on the connection, by name. */
  readonly #prepared = new Map<string, string>();
  /** Start of a message whose rest has not arrived. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #neededBytes = 0;
  #own: Socket | undefined;
  #undescribed: Connection | undefined;
  /** The driver keeps the buffers that it reads while a connection is being opened. */
  #isReady = false;

  /**
   * Opens the stream of a connection that is not encrypted, and filters it. It reads into one buffer: a new one for every piece is
   * memory outside of the heap, so much of it under load that the whole heap is collected again and again.
   */
  openStream(): Socket {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const pass = (messages: Buffer) => void socket.emit("data", messages);
    const options: SocketConstructorOpts & ConnectOpts = {
      onread: {
        buffer,
        callback: (bytes) => {
          this.#read(buffer.subarray(0, bytes), pass, socket);
          return true;
        },
      },
    };
    const socket: Socket = new Socket(options);
    this.#own = socket;
    return socket;
  }

  /** Filters the stream of a connection that is ready, unless it was opened here. The driver reads it by one listener. */
  filterStream(stream: Duplex): void {
    if (stream === this.#own) return;
    const [driver, ...others] = stream.listeners("data");
    if (driver === undefined || others.length > 0) {
      throw new TypeError("This release of pg does not read a connection by one listener of its stream.");
    }
    const pass = (messages: Buffer) => void driver.call(stream, messages);
    stream.removeAllListeners("data");
    stream.on("data", (chunk: Buffer) => this.#read(chunk, pass, stream));
  }

  /** Whether the driver has prepared this statement on the connection. */
  hasPrepared({ name, text }: Statement): boolean {
    return name !== undefined && this.#prepared.get(name) === text;
  }

  /** The driver has run this statement to its end on the connection: it has prepared it if it has a name. */
  notePrepared({ name, text }: Statement): void {
    if (name !== undefined) this.#prepared.set(name, text);
  }

  /** The connection for a statement whose rows are taken as bytes: their fields are known, and PostgreSQL need not name them each time. */
  withoutDescribe(connection: Connection): Connection {
    this.#undescribed ??= Object.create(connection, { describe: { value: () => undefined } }) as Connection;
    return this.#undescribed;
  }

  /** Takes what the stream brought; `pass` gives messages to the driver. A length that cannot be ends the stream. */
  #read(chunk: Buffer, pass: (messages: Buffer) => void, stream: Duplex): void {
    const bytes = this.#complete(chunk);
    if (bytes === undefined) return;
    let passed = 0;
    let at = 0;
    let size = HEADER;
    while (bytes.length - at >= HEADER) {
      size = 1 + readInt32(bytes, at + 1);
      if (size < HEADER) {
        stream.destroy(new Error("The server sent a message with an invalid length."));
        return;
      }
      if (bytes.length - at < size) break;
      if (this.#takes(bytes, at, at + size)) {
        if (passed < at) pass(this.#view(bytes.subarray(passed, at)));
        passed = at + size;
      }
      at += size;
      size = HEADER;
    }
    if (passed < at) pass(this.#view(bytes.subarray(passed, at)));
    // The stream reuses its buffer for the next chunk.
    if (at < bytes.length) this.#keep(Buffer.from(bytes.subarray(at)), size);
    const paused = this.pause?.();
    if (paused === undefined) return;
    stream.pause();
    const resume = () => void stream.resume();
    paused.then(resume, resume);
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
  #view(messages: Buffer): Buffer {
    if (this.#isReady) return messages;
    for (let at = 0; at < messages.length; at += 1 + readInt32(messages, at + 1)) {
      if (messages[at] === READY_FOR_QUERY) this.#isReady = true;
    }
    return Buffer.from(messages);
  }

  /** The chunk appended to the kept bytes. Undefined while a message is incomplete. */
  #complete(chunk: Buffer): Buffer | undefined {
    if (this.#bytes === 0) return chunk;
    this.#keep(Buffer.from(chunk), this.#neededBytes);
    if (this.#bytes < this.#neededBytes) return undefined;
    const whole = Buffer.concat(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return whole;
  }

  #keep(part: Buffer, length: number): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    this.#neededBytes = length;
  }
}
