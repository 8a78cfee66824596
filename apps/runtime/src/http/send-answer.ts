import type { IncomingMessage, ServerResponse } from "node:http";
import { FAILED_HEADER, type RouteAnswer } from "@appdb/engine/answers/answers";
import type { Logger } from "@appdb/engine/ports";
import { type CorsRule, corsHeaders } from "@appdb/http/cors";
import { setsDashboardCookie } from "@appdb/http/dashboard-cookies";
import { REQUEST_ID_HEADER } from "@appdb/http/request-ids";

export interface Sending {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  readonly log: Logger;
  readonly cors: CorsRule;
  /** Aborts when the service stops accepting requests. */
  readonly draining: AbortSignal;
  /** How long an endless stream waits for a reader that consumes nothing. */
  readonly patience_ms?: number;
  /** The same for an answer that has an end. */
  readonly stalled_ms?: number;
}

/** A client that takes nothing of its answer for so long has left. Until then the rest of the answer uses the disk. */
export const STALLED_MS = 600_000;

/** Statuses without a body and content length. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Sends a route's answer. Resolves when it was sent, or when the client is gone. */
export function sendAnswer(sending: Sending, answer: RouteAnswer): Promise<void> {
  const { response } = sending;
  const { body } = answer;
  const failed = answer.headers[FAILED_HEADER];
  // Node does not store headers that writeHead() sends, but request metrics read this one.
  if (failed !== undefined) response.setHeader(FAILED_HEADER, failed);
  if (typeof body !== "string" && !Buffer.isBuffer(body)) return sendStream(sending, answer, body);
  const bytes = Buffer.byteLength(body);
  const length = BODILESS.has(answer.status) ? [] : ["content-length", String(bytes)];
  response.writeHead(answer.status, headersOf(sending, answer, length));
  // For UTF-8, Node allocates three bytes per character outside the heap; ASCII is identical in latin1.
  response.end(body, bytes === body.length ? "latin1" : "utf8");
  return SENT;
}

const CORS_HEADER = "access-control-allow-origin";
const SENT = Promise.resolve();

function headersOf({ request, id, cors }: Sending, answer: RouteAnswer, headers: string[]): string[] {
  headers.push(REQUEST_ID_HEADER, id);
  for (const name in answer.headers) headers.push(name, answer.headers[name] ?? "");
  const { origin } = request.headers;
  const own = answer.more_headers;
  if (own === undefined && origin === undefined) return headers;
  return headersFor(origin, cors, own ?? [], headers);
}

/** A handler's own headers and those for a page of another origin. */
function headersFor(
  origin: string | undefined,
  cors: CorsRule,
  own: NonNullable<RouteAnswer["more_headers"]>,
  headers: string[],
): string[] {
  const hasOwnCors = own.some(([name]) => name === CORS_HEADER);
  // The router's CORS rule takes precedence; without one, a handler may set the headers.
  const more = cors === null || cors === "own" ? own : own.filter(([name]) => !name.startsWith("access-control-"));
  for (const [name, value] of more) {
    if (name.toLowerCase() !== "set-cookie" || !setsDashboardCookie(value)) headers.push(name, value);
  }
  if (origin !== undefined && !(hasOwnCors && cors === null))
    headers.push(...Object.entries(corsHeaders(origin, cors)).flat());
  return headers;
}

async function sendStream(
  sending: Sending,
  answer: RouteAnswer,
  body: AsyncIterable<Uint8Array | string>,
): Promise<void> {
  const { request, response, id, log, draining } = sending;
  response.writeHead(answer.status, headersOf(sending, answer, []));
  // A stream's first bytes may come much later; the headers show that the request was accepted.
  response.flushHeaders();
  const iterator = body[Symbol.asyncIterator]();
  const leaving = new Leaving(response, answer.is_endless === true ? draining : undefined);
  try {
    const { patience_ms: endlessMs = ENDLESS_PATIENCE_MS, stalled_ms: finiteMs = STALLED_MS } = sending;
    const timeoutMs = answer.is_endless === true ? endlessMs : finiteMs;
    if (request.method !== "HEAD") await pump(iterator, response, leaving, timeoutMs);
    response.end();
  } catch (error) {
    log.error({ req: id, err: error }, "answer broke off");
    // A body that ends with its connection would look complete; a reset does not.
    if (request.httpVersionMajor === 1 && request.httpVersionMinor === 0) response.socket?.resetAndDestroy();
    else response.destroy();
  } finally {
    leaving[Symbol.dispose]();
    // A generator waiting for its next piece ends when that arrives, or by the request's signal.
    iterator.return?.().catch((error: unknown) => log.warn({ req: id, err: error }, "answer did not end cleanly"));
  }
}

async function pump(
  iterator: AsyncIterator<Uint8Array | string>,
  response: ServerResponse,
  leaving: Leaving,
  timeoutMs: number,
): Promise<void> {
  for (;;) {
    const step = await leaving.race(iterator.next());
    if (step === undefined || step.done === true) return;
    if (!response.write(step.value)) await drained(response, leaving, timeoutMs);
    if (leaving.has_left) return;
  }
}

/**
 * A client that reads nothing of an endless stream for this long counts as gone, because nothing else would end the
 * stream.
 */
const ENDLESS_PATIENCE_MS = 60_000;

async function drained(response: ServerResponse, leaving: Leaving, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  await leaving.race(new Promise<void>((resolve) => response.once("drain", resolve)));
  clearTimeout(timer);
}

/** Detects that the client is gone, or that the answer must end with the service. */
class Leaving {
  readonly #response: ServerResponse;
  readonly #draining: AbortSignal | undefined;
  #end: (() => void) | undefined;
  has_left: boolean;

  constructor(response: ServerResponse, draining: AbortSignal | undefined) {
    this.#response = response;
    this.#draining = draining;
    this.has_left = response.destroyed || draining?.aborted === true;
    response.once("close", this.#onClose);
    draining?.addEventListener("abort", this.#onClose);
  }

  /** Waits for `work` or for the end, which gives undefined. (Promise.race would retain each piece until the end.) */
  race<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#end = () => resolve(undefined);
      if (this.has_left) this.#end();
      work.then(resolve, reject);
    });
  }

  readonly #onClose = (): void => {
    this.has_left = true;
    this.#end?.();
  };

  [Symbol.dispose](): void {
    this.#response.removeListener("close", this.#onClose);
    this.#draining?.removeEventListener("abort", this.#onClose);
  }
}
