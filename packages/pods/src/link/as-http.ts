/**
 * Adapts a request of the link to code that answers Node's HTTP: a request and a response with the used members of
 * IncomingMessage and ServerResponse. Nothing is written as HTTP.
 */
import { EventEmitter } from "node:events";
import { Readable, Writable } from "node:stream";
import { IncomingBody } from "./bodies.ts";
import type { LinkAnswer, LinkRequest } from "./link.ts";
import type { LinkAsked } from "./serve-link.ts";

/** A listener of a server's `request` event. */
export type HttpListener = (request: HttpOfLink, response: ResponseToLink) => void;

/** Lets a listener answer a request. `prefix` is its public path. @throws the error that destroyed the response */
export function answerAsHttp(
  request: LinkRequest,
  link: LinkAsked,
  prefix: string,
  listen: HttpListener,
): Promise<LinkAnswer> {
  return new Promise((resolve, reject) => {
    const incoming = new HttpOfLink(request, link.signal, prefix);
    const response = new ResponseToLink(incoming, resolve, reject);
    const leave = () => {
      response.destroy();
      // as in Node: a reader of the body learns that the rest does not come
      incoming.destroy(incoming.complete ? undefined : new Error("The client disconnected."));
    };
    incoming.socket.destroy = leave;
    link.signal.addEventListener("abort", leave, { once: true });
    response.once("close", () => incoming.socket.emit("close"));
    listen(incoming, response);
  });
}

/** The used members of a connection. Each request has its own. */
class NoSocket extends EventEmitter {
  readonly encrypted = false;
  readonly remoteAddress: string | undefined = undefined;
  destroy: () => void = () => undefined;
}

const HTTP = { httpVersion: "1.1", httpVersionMajor: 1, httpVersionMinor: 1 } as const;

/** A request with the members of Node's IncomingMessage. */
export class HttpOfLink extends Readable {
  readonly httpVersion = HTTP.httpVersion;
  readonly httpVersionMajor = HTTP.httpVersionMajor;
  readonly httpVersionMinor = HTTP.httpVersionMinor;
  readonly socket = new NoSocket();
  readonly method: string;
  url: string;
  readonly headers: Record<string, string | string[] | undefined>;
  /** The key that made the request, which the gateway has checked. */
  readonly caller: LinkRequest["caller"];
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  readonly #body: LinkRequest["body"];
  readonly #pieces: AsyncIterator<Uint8Array>;

  constructor(request: LinkRequest, signal: AbortSignal, prefix: string) {
    super();
    const { body, caller, method, path, search } = request;
    this.method = method;
    this.url = search === "" ? path : `${path}?${search}`;
    this.headers = headersOf(request, prefix);
    this.caller = caller;
    this.signal = signal;
    this.#body = body;
    this.#pieces = (Buffer.isBuffer(body) ? onePiece(body) : body)[Symbol.asyncIterator]();
  }

  get complete(): boolean {
    return this.readableEnded;
  }

  override _read(): void {
    const take = (piece: Uint8Array | null) => void this.push(piece);
    const failed = (error: unknown) => void this.destroy(error as Error);
    if (this.#body instanceof IncomingBody) this.#body.pull(take, failed);
    else this.#pieces.next().then(({ done, value }) => take(done === true ? null : value), failed);
  }

  /** As in Node, an error of a request without a listener does not end the program. */
  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    process.nextTick(() => done(this.listenerCount("error") === 0 ? null : error));
  }
}

async function* onePiece(body: Buffer): AsyncGenerator<Uint8Array> {
  if (body.length > 0) yield body;
}

/** The headers of a request, with the gateway's headers about the client. */
function headersOf(request: LinkRequest, prefix: string): Record<string, string | string[] | undefined> {
  const { body, client_address: address, headers, host, id, is_secure: isSecure } = request;
  const sent: Record<string, string | string[] | undefined> = {
    ...headers,
    host,
    "x-request-id": id,
    "x-forwarded-for": address,
    "x-forwarded-proto": isSecure ? "https" : "http",
    "x-forwarded-host": host,
    "x-forwarded-prefix": prefix,
  };
  if (!Buffer.isBuffer(body) && sent["content-length"] === undefined) sent["transfer-encoding"] = "chunked";
  return sent;
}

type HeaderValue = string | number | readonly string[];

interface Piece {
  readonly bytes: Buffer;
  readonly taken: () => void;
}

/**
 * A response with the members of Node's ServerResponse. The answer starts with the first bytes. A body that is written
 * and ended in one turn is sent whole.
 */
export class ResponseToLink extends Writable {
  statusCode = 200;
  statusMessage = "";
  sendDate = false;
  readonly req: HttpOfLink;
  readonly #headers = new Map<string, { readonly name: string; readonly value: HeaderValue }>();
  readonly #answer: (answer: LinkAnswer) => void;
  readonly #broke: (error: Error) => void;
  #written: string[] | undefined;
  #hasBegun = false;
  #streams = false;
  #piece: Piece | undefined;
  #ended: (() => void) | undefined;
  #wake: () => void = () => undefined;

  constructor(req: HttpOfLink, answer: (answer: LinkAnswer) => void, broke: (error: Error) => void) {
    super();
    this.req = req;
    this.#answer = answer;
    this.#broke = broke;
  }

  get socket(): HttpOfLink["socket"] {
    return this.req.socket;
  }

  get headersSent(): boolean {
    return this.#written !== undefined;
  }

  setHeader(name: string, value: HeaderValue): this {
    this.#headers.set(name.toLowerCase(), { name, value });
    return this;
  }

  getHeader(name: string): HeaderValue | undefined {
    return this.#headers.get(name.toLowerCase())?.value;
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }

  getHeaders(): Record<string, HeaderValue> {
    return Object.fromEntries([...this.#headers].map(([name, { value }]) => [name, value]));
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  /** Accepts names and values in alternation, or an object. */
  writeHead(status: number, headers: readonly string[] | Readonly<Record<string, HeaderValue | undefined>> = {}): this {
    this.statusCode = status;
    const flat = Array.isArray(headers) ? headers.map(String) : [];
    if (!Array.isArray(headers)) {
      for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.setHeader(name, value);
    }
    const replaced = new Set<string>();
    for (let at = 0; at < flat.length; at += 2) replaced.add((flat[at] ?? "").toLowerCase());
    const written: string[] = [];
    for (const [lower, { name, value }] of this.#headers) {
      if (replaced.has(lower)) continue;
      for (const one of Array.isArray(value) ? value : [value]) written.push(name, String(one));
    }
    this.#written = written.concat(flat);
    return this;
  }

  flushHeaders(): void {
    this.#begin(false);
  }

  // the gateway sends these itself, or never
  writeContinue(): void {}
  writeProcessing(): void {}
  writeEarlyHints(): void {}
  setTimeout(): this {
    return this;
  }

  override _write(bytes: Buffer, _encoding: unknown, taken: () => void): void {
    if (!this.#hasBody) {
      taken();
      return;
    }
    this.#piece = { bytes, taken };
    if (this.#hasBegun) this.#wake();
    // `end` may follow the only piece in the same turn
    else queueMicrotask(() => this.#begin(this.writableEnded && this.writableLength === bytes.length));
  }

  override _final(done: () => void): void {
    this.#begin(true);
    if (this.#streams) {
      this.#ended = done;
      this.#wake();
    } else done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const why = error ?? new Error("The answer broke off.");
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      this.#broke(why);
    }
    this.#wake();
    done(error);
  }

  get #hasBody(): boolean {
    return this.req.method !== "HEAD" && this.statusCode !== 204 && this.statusCode !== 304;
  }

  #begin(isWhole: boolean): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const status = this.statusCode;
    if (this.#written === undefined) this.writeHead(status);
    const headers = this.#written ?? [];
    // an invalid status must not reach the link: it would break the requests of all
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      this.#broke(new Error(`The answer has the status ${status}.`));
      this.destroy();
      return;
    }
    this.#streams = !isWhole;
    this.#answer({ status, headers, body: isWhole ? (this.#piece?.bytes ?? NOTHING) : this.#pieces() });
    if (isWhole) this.#takePiece();
  }

  #takePiece(): void {
    const piece = this.#piece;
    this.#piece = undefined;
    piece?.taken();
  }

  async *#pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        if (this.destroyed) throw this.errored ?? new Error("The answer broke off.");
        if (this.#piece !== undefined) {
          yield this.#piece.bytes;
          this.#takePiece();
        } else if (this.#ended !== undefined) return this.#ended();
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      // the reader stopped before the end
      if (this.#ended === undefined) this.destroy();
    }
  }
}

const NOTHING = Buffer.alloc(0);
