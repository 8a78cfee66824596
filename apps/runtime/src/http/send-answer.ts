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
  /** Aborts when the service takes no more requests. */
  readonly draining: AbortSignal;
  /** For how long a stream without an end waits for a reader who takes nothing. */
  readonly patience_ms?: number;
}

/** Statuses whose answers have no body, and so no length of it. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** Sends what a route answered. Resolves when it has gone out, or nobody is there to take it. */
export function sendAnswer(sending: Sending, answer: RouteAnswer): Promise<void> {
  const { response } = sending;
  const { body } = answer;
  const failed = answer.headers[FAILED_HEADER];
  // Node forgets the headers that writeHead() sends; who counts the answers looks for this one.
  if (failed !== undefined) response.setHeader(FAILED_HEADER, failed);
  if (typeof body !== "string" && !Buffer.isBuffer(body)) return sendStream(sending, answer, body);
  const bytes = Buffer.byteLength(body);
  const length = BODILESS.has(answer.status) ? [] : ["content-length", String(bytes)];
  response.writeHead(answer.status, headersOf(sending, answer, length));
  // Node makes room for three bytes a character of UTF-8, outside of the heap; ASCII is the same in both.
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

/** The headers that a handler makes of its own, and those for a page of another origin. */
function headersFor(
  origin: string | undefined,
  cors: CorsRule,
  own: NonNullable<RouteAnswer["more_headers"]>,
  headers: string[],
): string[] {
  const hasOwnCors = own.some(([name]) => name === CORS_HEADER);
  // What the router says of other origins counts; where it says nothing, a handler may.
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
  // What streams may have its first bytes much later; the head says that there is an answer.
  response.flushHeaders();
  const iterator = body[Symbol.asyncIterator]();
  const leaving = new Leaving(response, answer.is_endless === true ? draining : undefined);
  try {
    const patienceMs = answer.is_endless === true ? (sending.patience_ms ?? ENDLESS_PATIENCE_MS) : undefined;
    if (request.method !== "HEAD") await pump(iterator, response, leaving, patienceMs);
    response.end();
  } catch (error) {
    log.error({ req: id, err: error }, "answer broke off");
    // A body that ends where its connection does would look whole; a reset does not.
    if (request.httpVersionMajor === 1 && request.httpVersionMinor === 0) response.socket?.resetAndDestroy();
    else response.destroy();
  } finally {
    leaving[Symbol.dispose]();
    // One that waits for its next piece ends when that comes, or by the request's signal.
    iterator.return?.().catch((error: unknown) => log.warn({ req: id, err: error }, "answer did not end cleanly"));
  }
}

async function pump(
  iterator: AsyncIterator<Uint8Array | string>,
  response: ServerResponse,
  leaving: Leaving,
  patienceMs: number | undefined,
): Promise<void> {
  for (;;) {
    const step = await leaving.race(iterator.next());
    if (step === undefined || step.done === true) return;
    if (!response.write(step.value)) await drained(response, leaving, patienceMs);
    if (leaving.has_left) return;
  }
}

/** Whoever reads nothing of a stream without an end for so long is taken for gone: nobody else would ever end it. */
const ENDLESS_PATIENCE_MS = 60_000;

async function drained(response: ServerResponse, leaving: Leaving, patienceMs: number | undefined): Promise<void> {
  const timer = patienceMs === undefined ? undefined : setTimeout(() => response.destroy(), patienceMs);
  await leaving.race(new Promise<void>((resolve) => response.once("drain", resolve)));
  clearTimeout(timer);
}

/** Knows when nobody is there any more to read an answer, or it is to end with the service. */
class Leaving {
  readonly #response: ServerResponse;
  readonly #draining: AbortSignal | undefined;
  #end: (() => void) | undefined;
  has_left: boolean;

  constructor(response: ServerResponse, draining: AbortSignal | undefined) {
    this.#response = response;
    this.#draining = draining;
    this.has_left = response.destroyed || draining?.aborted === true;
    response.once("close", this.#leave);
    draining?.addEventListener("abort", this.#leave);
  }

  /** Waits for `work`, or for the end, which is undefined. (Promise.race would keep each piece until that comes.) */
  race<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#end = () => resolve(undefined);
      if (this.has_left) this.#end();
      work.then(resolve, reject);
    });
  }

  readonly #leave = (): void => {
    this.has_left = true;
    this.#end?.();
  };

  [Symbol.dispose](): void {
    this.#response.removeListener("close", this.#leave);
    this.#draining?.removeEventListener("abort", this.#leave);
  }
}
