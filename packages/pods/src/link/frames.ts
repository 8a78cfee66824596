import type { Duplex } from "node:stream";
import { FRAME_BYTES } from "./link.ts";

/** Kinds of frames. Heads are JSON arrays, because names would be repeated in each request. */
export const KIND = {
  /** JSON: `{versions, token}` from the caller, `{version}` from the pod. */
  hello: 1,
  /**
   * u32 length of the head, `[method, path, search, id, caller id, caller name, reads_media, headers, is_whole, host,
   * client address, is_secure]`, the whole body or nothing.
   */
  request: 2,
  /** u32 length of the head, `[status, is_whole, headers]`, the body or its first piece. */
  answer: 3,
  /** A further piece of a body. */
  piece: 4,
  /** End of a body. */
  end: 5,
  /** The answer was aborted. */
  abort: 6,
  /** u32 number of consumed bytes. */
  window: 7,
  /** The caller no longer waits for the answer. */
  cancel: 8,
  /** The pod accepts no further requests and finishes running ones. */
  drain: 9,
} as const;
export type FrameKind = (typeof KIND)[keyof typeof KIND];

/** Counts bytes while they are kept in memory. */
export interface CountBytes {
  add(bytes: number): void;
  give(bytes: number): void;
}

/**
 * Handles a frame, or a part of a piece: a piece arrives in the parts in which it was read. `payload` is a slice of the
 * reader's memory that is never overwritten.
 */
export type TakeFrame = (kind: number, request: number, payload: Buffer) => void;

/** Length, kind and number. */
const HEAD_BYTES = 9;
/** Bytes of the head that the length includes. */
const COUNTED = 5;

/** Splits an incoming byte stream into frames. */
export class FrameReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  #needed = HEAD_BYTES;
  /** The missing part of an incomplete piece. */
  #rest = { request: 0, bytes: 0 };

  /** Bytes of an incomplete frame. */
  get held_bytes(): number {
    return this.#bytes;
  }

  /** @throws Error for an invalid frame, and errors of `take`; the stream must not be read further */
  read(chunk: Buffer, take: TakeFrame): void {
    let all = chunk;
    if (this.#rest.bytes > 0) {
      const part = chunk.subarray(0, this.#rest.bytes);
      this.#rest.bytes -= part.length;
      take(KIND.piece, this.#rest.request, part);
      all = chunk.subarray(part.length);
    } else if (this.#bytes > 0) {
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
      if (all.length < end && all[at + 4] === KIND.piece) {
        // joining the parts would copy each byte of a long body
        this.#rest = { request: all.readUInt32BE(at + COUNTED), bytes: end - all.length };
        take(KIND.piece, this.#rest.request, all.subarray(at + HEAD_BYTES));
        at = all.length;
        break;
      }
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

/** Size of the memory chunks that frames are written into. A longer frame gets its own chunk. */
const CHUNK_BYTES = 65_536;
/** Longer payloads are written from their own memory, without a copy. */
const COPIED_BYTES = 8_192;
/** Maximum UTF-8 bytes per UTF-16 unit. */
const MAX_BYTES = 3;
const NOTHING = Buffer.alloc(0);

/** Writes frames to a socket. Frames of one event-loop turn go out together. */
export class FrameWriter {
  readonly #socket: Duplex;
  /** Full chunks of this turn, before `#chunk`. */
  #full: Buffer[] = [];
  /** Bytes before `#from` were given to the socket; those up to `#at` are pending. */
  #chunk = NOTHING;
  #from = 0;
  #at = 0;
  #isDue = false;
  readonly #flushDue = () => {
    this.#isDue = false;
    this.flush();
  };

  readonly #counted: CountBytes | undefined;

  /** `counted` counts written bytes until the system accepts them or the socket closes. */
  constructor(socket: Duplex, counted?: CountBytes) {
    this.#socket = socket;
    this.#counted = counted;
  }

  /** Bytes waiting to be sent. */
  get waiting_bytes(): number {
    return this.#socket.writableLength;
  }

  send(kind: FrameKind, request: number, payload: Buffer = NOTHING): void {
    const isCopied = payload.length <= COPIED_BYTES;
    const beginsAt = this.#begin(HEAD_BYTES + (isCopied ? payload.length : 0));
    if (isCopied) payload.copy(this.#chunk, beginsAt + HEAD_BYTES);
    this.#end(kind, request, beginsAt, payload.length + HEAD_BYTES, isCopied ? 0 : payload.length);
    if (isCopied) return;
    this.#full.push(this.#chunk.subarray(this.#from, this.#at), payload);
    this.#from = this.#at;
  }

  /** Writes a JSON head with its length, and a body. */
  sendHead(kind: FrameKind, request: number, head: unknown, body: Buffer): void {
    const json = JSON.stringify(head);
    // the length is known only after writing
    const beginsAt = this.#begin(HEAD_BYTES + 4 + json.length * MAX_BYTES + body.length);
    const headAt = beginsAt + HEAD_BYTES + 4;
    const headBytes = this.#chunk.write(json, headAt);
    this.#chunk.writeUInt32BE(headBytes, beginsAt + HEAD_BYTES);
    const bodyAt = headAt + headBytes;
    this.#end(kind, request, beginsAt, bodyAt + body.copy(this.#chunk, bodyAt) - beginsAt);
  }

  flush(): void {
    const parts = this.#full;
    if (this.#at > this.#from) parts.push(this.#chunk.subarray(this.#from, this.#at));
    if (parts.length === 0) return;
    this.#from = this.#at;
    this.#full = [];
    if (this.#socket.destroyed) return;
    const [only] = parts;
    if (only !== undefined && parts.length === 1) {
      // a corked write takes a detour through the socket's queue
      this.#write(only);
      return;
    }
    this.#socket.cork();
    for (const part of parts) this.#write(part);
    this.#socket.uncork();
  }

  #write(bytes: Buffer): void {
    const counted = this.#counted;
    if (counted === undefined) {
      this.#socket.write(bytes);
      return;
    }
    const { length } = bytes;
    counted.add(length);
    // the callback also runs when the socket is destroyed first
    this.#socket.write(bytes, () => counted.give(length));
  }

  /** Makes room for a whole frame and returns its start. */
  #begin(maxBytes: number): number {
    if (this.#chunk.length - this.#at < maxBytes) {
      if (this.#at > this.#from) this.#full.push(this.#chunk.subarray(this.#from, this.#at));
      this.#chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, maxBytes));
      this.#from = 0;
      this.#at = 0;
    }
    return this.#at;
  }

  /** Writes a frame's header in front of its content. `restBytes` of the content follow from other memory. */
  #end(kind: FrameKind, request: number, beginsAt: number, frameBytes: number, restBytes = 0): void {
    this.#chunk.writeUInt32BE(frameBytes - 4, beginsAt);
    this.#chunk.writeUInt8(kind, beginsAt + 4);
    this.#chunk.writeUInt32BE(request, beginsAt + COUNTED);
    this.#at = beginsAt + frameBytes - restBytes;
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

/** Splits a payload into the head of a request or an answer, and the rest. @throws Error for an invalid payload */
export function splitHead(payload: Buffer): { readonly head: unknown; readonly body: Buffer } {
  if (payload.length < 4) throw new Error("a head without its length");
  const end = 4 + payload.readUInt32BE(0);
  if (end > payload.length) throw new Error("a head that is longer than its frame");
  return { head: JSON.parse(payload.toString("utf8", 4, end)), body: payload.subarray(end) };
}
