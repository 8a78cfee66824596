import { type Duplex, pipeline } from "node:stream";
import type { Logger } from "@appdb/engine/ports";
import type { Secret } from "@appdb/system/secret";
import { IncomingBody, type LinkMemory, OutgoingBody, UNBOUNDED } from "./bodies.ts";
import { FrameReader, FrameWriter, KIND, numberOf, splitHead, type TakeFrame } from "./frames.ts";
import { LINK_VERSIONS, type LinkAnswer, LinkBroken, type LinkRequest } from "./link.ts";

export interface OpenLinkInput {
  /** Connects to the pod; may throw. */
  connect(): Duplex;
  readonly token: Secret;
  readonly log: Logger;
  /** Counts the memory of the link; optional. */
  readonly memory?: LinkMemory;
}

/** The caller's end of a link, after the pod's hello. */
export interface Link extends Disposable {
  /** False when the pod drains, the link is full or it is broken. */
  readonly is_open: boolean;
  readonly in_flight: number;
  /**
   * Sends a request once, without retries. Read the answer's body to its end or cancel it (`return`).
   * @throws LinkBroken; the signal's reason
   */
  request(request: LinkRequest, signal: AbortSignal | undefined): Promise<LinkAnswer>;
  /**
   * The same without a signal, which costs as much as the rest of a short request. If the body is undefined, the caller
   * writes it to the call. `memory` counts the answer's pieces instead of the link's memory.
   * @throws LinkBroken (`not_sent`) synchronously
   */
  start(request: LinkStart, memory?: LinkMemory): LinkCall;
}

export interface LinkStart extends Omit<LinkRequest, "body"> {
  readonly body: Buffer | undefined;
}

/** A sent request. */
export interface LinkCall {
  /** @throws LinkBroken; the reason of the cancellation */
  readonly answer: Promise<LinkAnswer>;
  /** Takes a streamed request body. It is destroyed when the answer is complete, because no one reads it then. */
  readonly body: OutgoingBody | undefined;
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

interface Waiting {
  resolve(answer: LinkAnswer): void;
  reject(error: unknown): void;
  /** Counts the pieces of the answer. */
  readonly memory: LinkMemory;
  readonly sending: OutgoingBody | undefined;
  /** Set once the answer has begun. */
  body: IncomingBody | undefined;
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
      for (const number of this.#waiting.keys()) this.#settle(number, new LinkBroken("unknown", reason));
    });
    const hello = { versions: LINK_VERSIONS, token: input.token.reveal() };
    this.#writer.send(KIND.hello, 0, Buffer.from(JSON.stringify(hello)));
    this.#writer.flush();
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
    const isWhole = Buffer.isBuffer(request.body);
    const call = this.start({ ...request, body: isWhole ? request.body : undefined });
    signal?.addEventListener("abort", () => call.cancel(signal.reason), { once: true });
    if (call.body !== undefined) pipeline(request.body, call.body, (error) => error && call.cancel(error));
    return await call.answer;
  }

  start(request: LinkStart, memory = this.#memory): LinkCall {
    if (!this.is_open) throw new LinkBroken("not_sent", "the link accepts no requests");
    this.#last += 1;
    const number = this.#last;
    const {
      body,
      caller,
      client_address: address,
      headers,
      host,
      id,
      is_secure: isSecure,
      method,
      path,
      search,
    } = request;
    const asker = [id, caller?.id ?? null, caller?.name ?? null, caller?.reads_media ?? false];
    const head = [method, path, search, ...asker, headers, body !== undefined, host, address, isSecure];
    this.#writer.sendHead(KIND.request, number, head, body ?? NOTHING);
    const sending = body === undefined ? this.#openBody(number) : undefined;
    let waiting: Waiting | undefined;
    const answer = new Promise<LinkAnswer>((resolve, reject) => {
      waiting = { resolve, reject, memory, sending, body: undefined };
      this.#waiting.set(number, waiting);
    });
    const cancel = (reason: unknown) => {
      this.#cancel(number, reason);
      waiting?.body?.drop();
    };
    return { answer, body: sending, cancel };
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
    checkHello(payload);
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
        this.#settle(request, undefined);
        return;
      case KIND.abort:
        this.#settle(request, new LinkBroken("unknown", "the answer broke off"));
        return;
      case KIND.window:
        waiting.sending?.widen(payload.readUInt32BE(0));
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
      waiting.resolve({ status, headers, body: first });
      this.#settle(number, undefined);
      return;
    }
    const body = new IncomingBody(
      waiting.memory,
      (bytes) => this.#writer.send(KIND.window, number, numberOf(bytes)),
      () => this.#cancel(number, undefined),
    );
    waiting.body = body;
    waiting.resolve({ status, headers, body });
  }

  #openBody(number: number): OutgoingBody {
    return new OutgoingBody(
      (piece) => this.#writer.send(KIND.piece, number, piece),
      () => this.#writer.send(KIND.end, number),
    );
  }

  #cancel(number: number, reason: unknown): void {
    if (!this.#waiting.has(number)) return;
    if (this.#state !== "broken") this.#writer.send(KIND.cancel, number);
    this.#settle(number, reason ?? new LinkBroken("unknown", "it was cancelled"));
  }

  /** Ends the sending and receiving of a request. */
  #settle(number: number, error: unknown): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    waiting?.sending?.destroy();
    if (waiting?.body !== undefined) waiting.body.end(error);
    else if (error !== undefined) waiting?.reject(error);
  }
}

const NOTHING = Buffer.alloc(0);

/** Checks a pod's hello. @throws Error for an invalid hello or an unsupported version */
function checkHello(payload: Buffer): void {
  const hello: unknown = JSON.parse(payload.toString("utf8"));
  if (typeof hello !== "object" || hello === null || !("version" in hello)) throw new Error("no hello");
  if (!LINK_VERSIONS.some((version) => version === hello.version)) throw new Error("an unsupported version");
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
