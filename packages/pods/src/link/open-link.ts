import type { Duplex } from "node:stream";
import type { Logger } from "@appdb/engine/ports";
import type { Secret } from "@appdb/system/secret";
import { type CountBytes, FrameReader, FrameWriter, KIND, numberOf, splitHead, type TakeFrame } from "./frames.ts";
import { LINK_VERSIONS, LINK_WINDOW_BYTES, type LinkAnswer, LinkBroken, type LinkRequest } from "./link.ts";

export interface OpenLinkInput {
  /** Connects to the pod; may throw. */
  connect(): Duplex;
  readonly token: Secret;
  readonly log: Logger;
  /** Counts the memory of the link; optional. */
  readonly memory?: LinkMemory;
}

/** Memory budget for frames that the pod has not read and answers that are not consumed. */
export interface LinkMemory extends CountBytes {
  /** Returns false and counts nothing when the budget is exhausted. */
  take(bytes: number): boolean;
}

/** The caller's end of a link, after the pod's hello. */
export interface Link extends Disposable {
  /** Data from the pod's hello. */
  readonly about: unknown;
  /** False when the pod drains, the link is full or it is broken. Requests then take another way. */
  readonly is_open: boolean;
  readonly in_flight: number;
  /**
   * Sends a request once, without retries. Read the answer's body to its end or cancel it (`return`).
   * @throws LinkBroken; the signal's reason
   */
  request(request: LinkRequest, signal: AbortSignal | undefined): Promise<LinkAnswer>;
  /**
   * The same for callers with many requests, because a signal costs as much as the rest of a request.
   * @throws LinkBroken (`not_sent`) synchronously
   */
  start(request: LinkRequest): LinkCall;
}

/** A sent request. */
export interface LinkCall {
  /** @throws LinkBroken; the reason of the cancellation */
  readonly answer: Promise<LinkAnswer>;
  /** Stops waiting for the answer and drops its unconsumed pieces. Does nothing after the end. */
  cancel(reason: unknown): void;
}

/** Timeout of the pod's hello. */
const HELLO_MS = 5_000;
/** Maximum bytes waiting for a pod that does not read. */
const WAITING_BYTES = 16_777_216;
const MAX_REQUESTS = 0xffff_ffff;

/**
 * Connects to a pod and exchanges hellos.
 * @throws LinkBroken (`not_sent`) when the pod is unreachable or refuses the caller
 */
export function openLink(input: OpenLinkInput): Promise<Link> {
  return new Promise((resolve, reject) => {
    try {
      new LinkCaller(input, resolve, reject);
    } catch (error) {
      reject(new LinkBroken("not_sent", String(error)));
    }
  });
}

const UNBOUNDED: LinkMemory = { take: () => true, add: () => undefined, give: () => undefined };

interface Waiting {
  resolve(answer: LinkAnswer): void;
  reject(error: unknown): void;
  /** Set once the answer has begun. */
  body: Body | undefined;
}

class LinkCaller implements Link {
  readonly #socket: Duplex;
  readonly #log: Logger;
  readonly #memory: LinkMemory;
  /** Bytes unread by the reader, as counted last. */
  #unread = 0;
  readonly #reader = new FrameReader();
  readonly #writer: FrameWriter;
  readonly #waiting = new Map<number, Waiting>();
  #about: unknown;
  #state: "greeting" | "open" | "draining" | "broken" = "greeting";
  #last = 0;

  constructor(input: OpenLinkInput, opened: (link: Link) => void, failed: (error: Error) => void) {
    const socket = input.connect();
    this.#socket = socket;
    this.#log = input.log;
    this.#memory = input.memory ?? UNBOUNDED;
    this.#writer = new FrameWriter(socket, input.memory);
    const late = setTimeout(() => socket.destroy(new Error("no answer to the hello")), HELLO_MS);
    let reason = "the connection ended";
    const take: TakeFrame = (kind, request, payload) => {
      if (this.#state !== "greeting") this.#take(kind, request, payload);
      else {
        this.#greeted(kind, payload);
        clearTimeout(late);
        opened(this);
      }
    };
    socket.on("data", (chunk: Buffer) => {
      try {
        this.#reader.read(chunk, take);
        this.#countUnread(this.#reader.held_bytes);
      } catch (error) {
        // limits the log line when the pod sends arbitrary text
        reason = String(error).slice(0, 300);
        this.#log.warn({ why: reason }, "the pod sent an invalid frame; the link was closed");
        socket.destroy();
      }
    });
    socket.on("error", (error) => {
      reason = error.message;
    });
    socket.once("close", () => {
      clearTimeout(late);
      const wasGreeting = this.#state === "greeting";
      this.#state = "broken";
      this.#countUnread(0);
      if (wasGreeting) failed(new LinkBroken("not_sent", reason));
      for (const waiting of this.#waiting.values()) fail(waiting, new LinkBroken("unknown", reason));
      this.#waiting.clear();
    });
    const hello = { versions: LINK_VERSIONS, token: input.token.reveal() };
    this.#writer.send(KIND.hello, 0, Buffer.from(JSON.stringify(hello)));
    this.#writer.flush();
  }

  get about(): unknown {
    return this.#about;
  }

  get is_open(): boolean {
    return this.#state === "open" && this.#writer.waiting_bytes < WAITING_BYTES && this.#last < MAX_REQUESTS;
  }

  get in_flight(): number {
    return this.#waiting.size;
  }

  async request(request: LinkRequest, signal: AbortSignal | undefined): Promise<LinkAnswer> {
    if (!this.is_open) throw new LinkBroken("not_sent", "the link accepts no requests");
    signal?.throwIfAborted();
    const call = this.start(request);
    signal?.addEventListener("abort", () => call.cancel(signal.reason), { once: true });
    return await call.answer;
  }

  start(request: LinkRequest): LinkCall {
    if (!this.is_open) throw new LinkBroken("not_sent", "the link accepts no requests");
    this.#last += 1;
    const number = this.#last;
    const { body, caller, headers, id, method, path, search } = request;
    const head = [method, path, search, id, caller?.id ?? null, caller?.name ?? null, headers];
    this.#writer.sendHead(KIND.request, number, head, body);
    let waiting: Waiting | undefined;
    const answer = new Promise<LinkAnswer>((resolve, reject) => {
      waiting = { resolve, reject, body: undefined };
      this.#waiting.set(number, waiting);
    });
    const cancel = (reason: unknown) => {
      this.#cancel(number, reason);
      waiting?.body?.drop();
    };
    return { answer, cancel };
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #countUnread(bytes: number): void {
    if (bytes === this.#unread) return;
    this.#memory.add(bytes);
    this.#memory.give(this.#unread);
    this.#unread = bytes;
  }

  #greeted(kind: number, payload: Buffer): void {
    if (kind !== KIND.hello) throw new Error("no hello");
    this.#about = readHello(payload);
    this.#state = "open";
  }

  #take(kind: number, request: number, payload: Buffer): void {
    if (kind === KIND.drain) {
      if (this.#state === "open") this.#state = "draining";
      return;
    }
    if (request === 0 || request > this.#last) throw new Error(`an answer to the request ${request}`);
    const waiting = this.#waiting.get(request);
    // the rest of a cancelled answer may still arrive
    if (waiting === undefined) return;
    switch (kind) {
      case KIND.answer:
        this.#begin(request, waiting, payload);
        return;
      case KIND.piece:
        if (waiting.body === undefined) throw new Error("a piece before its answer");
        if (!waiting.body.push(payload)) this.#cancel(request, new LinkBroken("unknown", "no memory left for it"));
        return;
      case KIND.end:
        if (waiting.body === undefined) throw new Error("an end before its answer");
        this.#waiting.delete(request);
        waiting.body.end(undefined);
        return;
      case KIND.abort:
        this.#waiting.delete(request);
        fail(waiting, new LinkBroken("unknown", "the answer broke off"));
        return;
      default:
        throw new Error(`a frame of the kind ${kind}`);
    }
  }

  #begin(number: number, waiting: Waiting, payload: Buffer): void {
    if (waiting.body !== undefined) throw new Error("a second answer");
    const { body: first, head } = splitHead(payload);
    const { headers, is_whole: isWhole, status } = readAnswer(head);
    if (isWhole) {
      this.#waiting.delete(number);
      waiting.resolve({ status, headers, body: first });
      return;
    }
    const body = new Body(
      this.#memory,
      (bytes) => this.#writer.send(KIND.window, number, numberOf(bytes)),
      () => this.#cancel(number, undefined),
    );
    waiting.body = body;
    waiting.resolve({ status, headers, body });
  }

  #cancel(number: number, reason: unknown): void {
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return;
    this.#waiting.delete(number);
    if (this.#state !== "broken") this.#writer.send(KIND.cancel, number);
    fail(waiting, reason ?? new LinkBroken("unknown", "it was cancelled"));
  }
}

/** Reads a pod's hello. @throws Error for an invalid hello or an unsupported version */
function readHello(payload: Buffer): unknown {
  const hello: unknown = JSON.parse(payload.toString("utf8"));
  if (typeof hello !== "object" || hello === null || !("version" in hello) || !("about" in hello))
    throw new Error("no hello");
  if (!LINK_VERSIONS.some((version) => version === hello.version)) throw new Error("an unsupported version");
  return hello.about;
}

/** @throws Error for an invalid head of an answer */
function readAnswer(head: unknown): {
  readonly status: number;
  readonly is_whole: boolean;
  readonly headers: string[];
} {
  if (!Array.isArray(head)) throw new Error("an invalid head of an answer");
  const [status, isWhole, headers] = head;
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599;
  const areHeaders = Array.isArray(headers) && headers.every((text) => typeof text === "string");
  if (!isStatus || !areHeaders || headers.length % 2 !== 0) throw new Error("an invalid head of an answer");
  return { status, is_whole: isWhole === true, headers };
}

function fail(waiting: Waiting, error: unknown): void {
  if (waiting.body === undefined) waiting.reject(error);
  else waiting.body.end(error);
}

/**
 * The body of an answer as it arrives. Consuming it opens the window further.
 * @throws LinkBroken when the answer was aborted
 */
class Body implements AsyncIterable<Uint8Array> {
  readonly #memory: LinkMemory;
  readonly #took: (bytes: number) => void;
  readonly #left: () => void;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #hasEnded = false;
  #error: unknown;
  #wake = () => {};

  constructor(memory: LinkMemory, took: (bytes: number) => void, onLeave: () => void) {
    this.#memory = memory;
    this.#took = took;
    this.#left = onLeave;
  }

  /** False when the memory budget is exhausted. */
  push(piece: Buffer): boolean {
    if (this.#bytes + piece.length > LINK_WINDOW_BYTES) throw new Error("more of an answer than the window allows");
    if (!this.#memory.take(piece.length)) return false;
    this.#bytes += piece.length;
    this.#pieces.push(piece);
    this.#wake();
    return true;
  }

  end(error: unknown): void {
    this.#hasEnded = true;
    this.#error = error;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          yield piece;
          this.#letGo(piece.length);
          if (!this.#hasEnded) this.#took(piece.length);
        } else if (this.#hasEnded) {
          if (this.#error !== undefined) throw this.#error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      if (!this.#hasEnded) this.#left();
      this.drop();
    }
  }

  /** Drops pieces that will not be consumed. */
  drop(): void {
    this.#pieces.length = 0;
    this.#letGo(this.#bytes);
  }

  /** Stops counting a piece. A piece consumed after a drop is not counted twice. */
  #letGo(bytes: number): void {
    const counted = Math.min(bytes, this.#bytes);
    this.#bytes -= counted;
    this.#memory.give(counted);
  }
}
