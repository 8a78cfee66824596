import type { Duplex } from "node:stream";
import { FRAME_BYTES } from "./link.ts";

/** Kinds of frames. What a head is, is JSON: an array, because names would be sent with each request. */
export const KIND = {
  /** JSON: `{versions, token}` of the caller, `{version, about}` of the pod. */
  hello: 1,
  /** u32 length of the head, `[method, path, search, id, caller id, caller name, headers]`, the body. */
  request: 2,
  /** u32 length of the head, `[status, is_whole, headers]`, the body or its first piece. */
  answer: 3,
  /** More of an answer's body. */
  piece: 4,
  /** Nothing more of an answer's body comes. */
  end: 5,
  /** The answer broke off. */
  abort: 6,
  /** u32 bytes that were taken. */
  window: 7,
  /** Nobody waits for the answer any more. */
  cancel: 8,
  /** The pod asks for no further requests; those that are under way end. */
  drain: 9,
} as const;
export type FrameKind = (typeof KIND)[keyof typeof KIND];

/** Counts bytes from when they are kept until they are not. */
export interface CountBytes {
  add(bytes: number): void;
  give(bytes: number): void;
}

/** Takes a frame. `payload` is of the reader's memory: it stays what it is. */
export type TakeFrame = (kind: number, request: number, payload: Buffer) => void;

/** Length, kind and number. */
const HEAD_BYTES = 9;
/** What of the length counts. */
const COUNTED = 5;

/** Takes frames out of what comes, however it was cut. */
export class FrameReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  #needed = HEAD_BYTES;

  /** What is kept of a frame whose rest has not come. */
  get held_bytes(): number {
    return this.#bytes;
  }

  /** @throws Error for what no end of a link sends, what `take` throws: nothing is to be read behind it */
  read(chunk: Buffer, take: TakeFrame): void {
    let all = chunk;
    if (this.#bytes > 0) {
      this.#parts.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes < this.#needed) return;
      all = Buffer.concat(this.#parts, this.#bytes);
    }
    let at = 0;
    this.#needed = HEAD_BYTES;
    while (all.length - at >= HEAD_BYTES) {
      const length = all.readUInt32BE(at);
      if (length < COUNTED || length > FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
      const end = at + 4 + length;
      if (all.length < end) {
        this.#needed = 4 + length;
        break;
      }
      take(all[at + 4] ?? 0, all.readUInt32BE(at + COUNTED), all.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    this.#bytes = all.length - at;
    this.#parts = this.#bytes === 0 ? [] : [all.subarray(at)];
  }
}

/** Frames are written into pieces of memory of this size, one after the other; a longer one has its own. */
const CHUNK_BYTES = 65_536;
/** Of UTF-8, for each unit of a text. */
const MAX_BYTES = 3;
const NOTHING = Buffer.alloc(0);

/** Writes frames to a socket: those of one turn of the event loop together. */
export class FrameWriter {
  readonly #socket: Duplex;
  /** Of this turn, before `#chunk`. */
  #full: Buffer[] = [];
  /** What is before `#from` was given to the socket, what is before `#at` is to be. */
  #chunk = NOTHING;
  #from = 0;
  #at = 0;
  #isDue = false;
  readonly #flushDue = () => {
    this.#isDue = false;
    this.flush();
  };

  readonly #counted: CountBytes | undefined;

  /** `counted` counts what was written until the system has it, or the socket is gone. */
  constructor(socket: Duplex, counted?: CountBytes) {
    this.#socket = socket;
    this.#counted = counted;
  }

  /** What waits to be sent. */
  get waiting_bytes(): number {
    return this.#socket.writableLength;
  }

  send(kind: FrameKind, request: number, payload: Buffer = NOTHING): void {
    const beginsAt = this.#begin(HEAD_BYTES + payload.length);
    this.#end(kind, request, beginsAt, beginsAt + HEAD_BYTES + payload.copy(this.#chunk, beginsAt + HEAD_BYTES));
  }

  /** A head of JSON, its length before it, and a body. */
  sendHead(kind: FrameKind, request: number, head: unknown, body: Buffer): void {
    const json = JSON.stringify(head);
    // how long it is shows once it is written
    const beginsAt = this.#begin(HEAD_BYTES + 4 + json.length * MAX_BYTES + body.length);
    const headAt = beginsAt + HEAD_BYTES + 4;
    const headBytes = this.#chunk.write(json, headAt);
    this.#chunk.writeUInt32BE(headBytes, beginsAt + HEAD_BYTES);
    const bodyAt = headAt + headBytes;
    this.#end(kind, request, beginsAt, bodyAt + body.copy(this.#chunk, bodyAt));
  }

  flush(): void {
    if (this.#at === this.#from) return;
    const last = this.#chunk.subarray(this.#from, this.#at);
    this.#from = this.#at;
    const parts = this.#full;
    if (this.#socket.destroyed) this.#full = [];
    else if (parts.length === 0) this.#write(last);
    else {
      this.#full = [];
      this.#socket.cork();
      for (const part of parts) this.#write(part);
      this.#write(last);
      this.#socket.uncork();
    }
  }

  #write(bytes: Buffer): void {
    const counted = this.#counted;
    if (counted === undefined) {
      this.#socket.write(bytes);
      return;
    }
    const { length } = bytes;
    counted.add(length);
    // it is called in any case, also where the socket is destroyed first
    this.#socket.write(bytes, () => counted.give(length));
  }

  /** Makes room for a whole frame and says where it begins. */
  #begin(mostBytes: number): number {
    if (this.#chunk.length - this.#at < mostBytes) {
      if (this.#at > this.#from) this.#full.push(this.#chunk.subarray(this.#from, this.#at));
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, mostBytes));
      this.#from = 0;
      this.#at = 0;
    }
    return this.#at;
  }

  /** Writes what a frame begins with before what was written of it. */
  #end(kind: FrameKind, request: number, beginsAt: number, endsAt: number): void {
    this.#chunk.writeUInt32BE(endsAt - beginsAt - 4, beginsAt);
    this.#chunk.writeUInt8(kind, beginsAt + 4);
    this.#chunk.writeUInt32BE(request, beginsAt + COUNTED);
    this.#at = endsAt;
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#flushDue);
  }
}

export function numberOf(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

/** The head of a request or an answer, and what stands behind it. @throws Error for what is none */
export function splitHead(payload: Buffer): { readonly head: unknown; readonly body: Buffer } {
  if (payload.length < 4) throw new Error("a head without its length");
  const end = 4 + payload.readUInt32BE(0);
  if (end > payload.length) throw new Error("a head that is longer than its frame");
  return { head: JSON.parse(payload.toString("utf8", 4, end)), body: payload.subarray(end) };
}
