import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type Socket } from "node:net";
import type { Logger } from "@appdb/engine/ports";
import type { Secret } from "@appdb/system/secret";
import { IncomingBody, UNBOUNDED } from "./bodies.ts";
import { FrameReader, FrameWriter, KIND, numberOf, splitHead, type TakeFrame } from "./frames.ts";
import { LINK_VERSIONS, LINK_WINDOW_BYTES, type LinkAnswer, type LinkRequest } from "./link.ts";

export interface ServeLinkInput {
  /** Path of a unix socket. A leftover of a previous server must be removed before. */
  readonly socket: string;
  readonly token: Secret;
  readonly log: Logger;
  /** Answers a request; never rejects. */
  handle(request: LinkRequest, link: LinkAsked): Promise<LinkAnswer>;
}

/** State of the caller. */
export interface LinkAsked {
  /** True when the caller has disconnected or cancelled. */
  readonly is_gone: boolean;
  /** Aborts when the caller is gone. Created on first use, because it costs as much as the rest of a short request. */
  readonly signal: AbortSignal;
}

export interface LinkServer extends AsyncDisposable {
  /** Asks callers to send no further requests. Requests that still arrive are answered. */
  drain(): void;
  /** Resolves when no request is running. */
  whenIdle(): Promise<void>;
}

/** Number of members of a request's head. */
const REQUEST_HEAD = 12;
/** Timeout of a caller's hello. */
const HELLO_MS = 5_000;

/**
 * Serves links on a socket. Disposing closes all connections.
 * @throws the system's error when the socket cannot be opened
 */
export async function serveLink(input: ServeLinkInput): Promise<LinkServer> {
  const ends = new Set<LinkEnd>();
  let is_draining = false;
  const server = createServer({ noDelay: true }, (socket) => {
    const end = new LinkEnd(socket, input, () => is_draining);
    ends.add(end);
    socket.once("close", () => ends.delete(end));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(input.socket, resolve);
  });
  return {
    drain() {
      is_draining = true;
      for (const end of ends) end.drain();
    },
    async whenIdle() {
      for (const end of ends) await end.whenIdle();
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const end of ends) end.hangUp();
      await closed;
    },
  };
}

class Running implements LinkAsked {
  /** Bytes that may be sent before the caller confirms consumption. */
  window = LINK_WINDOW_BYTES;
  wake: () => void = NOBODY;
  is_gone = false;
  /** The body of a streamed request. */
  readonly body: IncomingBody | undefined;
  #stop: AbortController | undefined;

  constructor(body: IncomingBody | undefined) {
    this.body = body;
  }

  get signal(): AbortSignal {
    this.#stop ??= new AbortController();
    if (this.is_gone) this.#stop.abort(linkClosed());
    return this.#stop.signal;
  }

  /** Allows that many more bytes to be sent. */
  widen(bytes: number): void {
    this.window += bytes;
    this.wake();
  }

  leave(): void {
    this.is_gone = true;
    this.body?.end(linkClosed());
    this.#stop?.abort(linkClosed());
    this.wake();
  }
}

const NOBODY = () => undefined;

function linkClosed(): Error {
  return new Error("The caller is gone.");
}

class LinkEnd {
  readonly #socket: Socket;
  readonly #input: ServeLinkInput;
  readonly #isDraining: () => boolean;
  readonly #reader = new FrameReader();
  readonly #writer: FrameWriter;
  readonly #running = new Map<number, Running>();
  #isKnown = false;
  #last = 0;
  #becameIdle: () => void = NOBODY;

  constructor(socket: Socket, input: ServeLinkInput, isDraining: () => boolean) {
    this.#socket = socket;
    this.#input = input;
    this.#isDraining = isDraining;
    this.#writer = new FrameWriter(socket);
    const late = setTimeout(() => socket.destroy(), HELLO_MS);
    const take: TakeFrame = (kind, request, payload) => {
      if (this.#isKnown) this.#take(kind, request, payload);
      else {
        this.#greet(kind, payload);
        clearTimeout(late);
      }
    };
    socket.on("data", (chunk: Buffer) => {
      try {
        this.#reader.read(chunk, take);
      } catch (error) {
        input.log.warn({ why: String(error) }, "the caller sent an invalid frame; the link was closed");
        socket.destroy();
      }
    });
    socket.on("error", () => undefined);
    socket.once("close", () => {
      clearTimeout(late);
      for (const running of this.#running.values()) running.leave();
    });
  }

  drain(): void {
    if (this.#isKnown) this.#writer.send(KIND.drain, 0);
  }

  async whenIdle(): Promise<void> {
    while (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        this.#becameIdle = resolve;
      });
    }
  }

  hangUp(): void {
    this.#writer.flush();
    this.#socket.end();
    this.#socket.destroySoon();
  }

  #take(kind: number, request: number, payload: Buffer): void {
    switch (kind) {
      case KIND.request:
        if (request <= this.#last) throw new Error("a repeated request number");
        this.#last = request;
        this.#begin(request, payload);
        return;
      case KIND.cancel:
        this.#running.get(request)?.leave();
        return;
      case KIND.window:
        this.#running.get(request)?.widen(payload.readUInt32BE(0));
        return;
      case KIND.piece:
        this.#bodyOf(request)?.push(payload);
        return;
      case KIND.end:
        this.#bodyOf(request)?.end(undefined);
        return;
      default:
        throw new Error(`a frame of the kind ${kind}`);
    }
  }

  /**
   * Undefined for a request that was answered before its body was complete.
   * @throws Error for a body that was not announced
   */
  #bodyOf(number: number): IncomingBody | undefined {
    const running = this.#running.get(number);
    if (number > this.#last || (running !== undefined && running.body === undefined))
      throw new Error("a piece of no body");
    return running?.body;
  }

  #greet(kind: number, payload: Buffer): void {
    if (kind !== KIND.hello) throw new Error("no hello");
    const { token, versions } = readHello(payload);
    if (!isSame(token, this.#input.token.reveal())) throw new Error("another token");
    const version = LINK_VERSIONS.findLast((known) => versions.includes(known));
    if (version === undefined) throw new Error("no common version");
    this.#isKnown = true;
    this.#writer.send(KIND.hello, 0, Buffer.from(JSON.stringify({ version })));
    if (this.#isDraining()) this.drain();
  }

  /** Starts answering a request. A short answer is sent without an additional promise. */
  #begin(number: number, payload: Buffer): void {
    const took = (bytes: number) => this.#writer.send(KIND.window, number, numberOf(bytes));
    const request = readRequest(payload, () => new IncomingBody(UNBOUNDED, took, NOBODY));
    const running = new Running(request.body instanceof IncomingBody ? request.body : undefined);
    this.#running.set(number, running);
    const broke = (error: unknown) => {
      this.#end(number, running);
      if (running.is_gone) return;
      this.#input.log.error({ err: error }, "an answer broke off");
      this.#writer.send(KIND.abort, number);
    };
    const answered = (answer: LinkAnswer): Promise<void> | undefined => {
      const { body, headers, status } = answer;
      if (!Buffer.isBuffer(body) || body.length > LINK_WINDOW_BYTES) return this.#sendPieces(number, running, answer);
      this.#end(number, running);
      if (!running.is_gone) this.#writer.sendHead(KIND.answer, number, [status, true, headers], body);
      return undefined;
    };
    this.#input.handle(request, running).then(answered).catch(broke);
  }

  /** Drops the unread rest of the request's body. */
  #end(number: number, running: Running): void {
    this.#running.delete(number);
    running.body?.end(new Error("The request was answered."));
    if (this.#running.size === 0) this.#becameIdle();
  }

  async #sendPieces(number: number, running: Running, answer: LinkAnswer): Promise<void> {
    if (running.is_gone) await discardBody(answer);
    else await this.#sendStream(number, running, answer);
    this.#end(number, running);
  }

  async #sendStream(number: number, running: Running, { body, headers, status }: LinkAnswer): Promise<void> {
    this.#writer.sendHead(KIND.answer, number, [status, false, headers], Buffer.alloc(0));
    const pieces = Buffer.isBuffer(body) ? [body] : body;
    for await (const piece of pieces) {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      for (let at = 0; at < bytes.length; ) {
        while (running.window <= 0 && !running.is_gone) {
          await new Promise<void>((resolve) => {
            running.wake = resolve;
          });
        }
        if (running.is_gone) return;
        const part = bytes.subarray(at, at + Math.min(running.window, LINK_WINDOW_BYTES));
        running.window -= part.length;
        at += part.length;
        this.#writer.send(KIND.piece, number, part);
      }
      if (running.is_gone) return;
    }
    this.#writer.send(KIND.end, number);
  }
}

/** @throws Error for an invalid hello */
function readHello(payload: Buffer): { readonly token: string; readonly versions: readonly unknown[] } {
  const hello: unknown = JSON.parse(payload.toString("utf8"));
  if (typeof hello === "object" && hello !== null && "token" in hello && "versions" in hello) {
    const { token, versions } = hello;
    if (typeof token === "string" && Array.isArray(versions)) return { token, versions };
  }
  throw new Error("a hello without token and versions");
}

/**
 * Parses a request. Callers with the token are trusted with the shape of their requests.
 * @throws Error for an invalid request
 */
function readRequest(payload: Buffer, openBody: () => IncomingBody): LinkRequest {
  const { body: whole, head } = splitHead(payload);
  if (!Array.isArray(head) || head.length !== REQUEST_HEAD) throw new Error("an invalid head of a request");
  const [method, path, search, id, callerId, callerName, readsMedia, headers, isWhole, host, address, isSecure] = head;
  const caller = callerId === null ? null : { id: callerId, name: callerName, reads_media: readsMedia === true };
  const body = isWhole === true ? whole : openBody();
  return { method, path, search, id, headers, body, caller, host, client_address: address, is_secure: isSecure };
}

/** Ends an unread body. Starts it first, because a generator that never started would not run its cleanup. */
async function discardBody({ body }: LinkAnswer): Promise<void> {
  if (Buffer.isBuffer(body)) return;
  for await (const _ of body) break;
}

function isSame(received: string, token: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(received), hash(token));
}
