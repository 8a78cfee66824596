import { FAILED_HEADER, type RouteAnswer } from "@appdb/engine/answers/answers";
import type { CompiledRoute, RouteAddress } from "@appdb/engine/routes/route";
import { answerAsHttp, type HttpListener } from "@appdb/pods/link/as-http";
import type { LinkAnswer, LinkRequest } from "@appdb/pods/link/link";
import type { LinkAsked } from "@appdb/pods/link/serve-link";
import type { RequestLog } from "../daemon/logger.ts";
import { plainHost } from "../http/add-route.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { TrafficCounter } from "./traffic-counter.ts";

export interface CarryLinkDeps {
  readonly traffic: TrafficCounter;
  readonly metrics: RequestMetrics;
  readonly logRequest: RequestLog;
  /** Maximum size of a request body. */
  readonly body_bytes: number;
  /** Public path of the service: `/ingest`. */
  readonly prefix: string;
  /** Answers requests that have no compiled route, or that need more than a head and a short JSON body. */
  readonly listen: HttpListener;
}

const CLIENT_GONE = 499;

/**
 * Answers requests of the gateway, which has checked their keys: short ones by their compiled routes, others by the
 * HTTP server.
 */
export class LinkCarrier {
  /** By method and path. */
  readonly #routes = new Map<string, Map<string, CompiledRoute>>();
  readonly #deps: CarryLinkDeps;

  constructor(routes: readonly CompiledRoute[], deps: CarryLinkDeps) {
    for (const route of routes.filter(isDirect)) {
      const { method, path } = route;
      const ofMethod = this.#routes.get(method) ?? new Map<string, CompiledRoute>();
      this.#routes.set(method, ofMethod.set(path, route));
    }
    this.#deps = deps;
  }

  /** Answers a request. @throws Error for an answer that was aborted before its start */
  async handle(request: LinkRequest, link: LinkAsked): Promise<LinkAnswer> {
    const { listen, prefix, traffic } = this.#deps;
    const { body, caller, headers, id, method, path, search } = request;
    const route = this.#routes.get(method)?.get(path);
    if (route === undefined || caller === null || !Buffer.isBuffer(body) || !this.#isPlain(body, headers)) {
      return await answerAsHttp(request, link, prefix, listen);
    }
    const startedAt = performance.now();
    traffic.begin();
    const signal = route.takes_signal ? link.signal : undefined;
    const place = route.takes_address === true ? placeOf(request, prefix) : undefined;
    const answer = await route.handle({ body, search, headers, id, caller, signal, route: place });
    return this.#toLinkAnswer(answer, { request, route, asked: link, started_at: startedAt });
  }

  /** Whether a request has a short JSON body or none, no page's origin, and asks for no stream. */
  #isPlain({ length }: Buffer, headers: LinkRequest["headers"]): boolean {
    if (headers.origin !== undefined || headers["content-encoding"] !== undefined) return false;
    if (headers.accept?.includes("text/event-stream") === true || length > this.#deps.body_bytes) return false;
    return length === 0 || JSON_TYPE.test(String(headers["content-type"]));
  }

  #toLinkAnswer(answer: RouteAnswer, carried: Carried): LinkAnswer {
    const { body, more_headers: moreHeaders, status } = answer;
    const headers: string[] = [];
    for (const name in answer.headers) headers.push(name, answer.headers[name] ?? "");
    if (moreHeaders !== undefined) for (const [name, value] of moreHeaders) headers.push(name, value);
    if (typeof body === "string" || Buffer.isBuffer(body)) {
      this.#ended(carried, status, answer.headers[FAILED_HEADER] !== undefined);
      return { status, headers, body: typeof body === "string" ? Buffer.from(body) : body };
    }
    const ended = () => this.#ended(carried, carried.asked.is_gone ? CLIENT_GONE : status);
    return { status, headers, body: toBytes(body, ended) };
  }

  #ended({ request, route, started_at: startedAt }: Carried, status: number, hasFailed = false): void {
    const { logRequest, metrics, traffic } = this.#deps;
    const { caller, id, method, path } = request;
    traffic.end();
    const ms = performance.now() - startedAt;
    logRequest({ req: id, method, route: path, status, ms: Math.round(ms * 10) / 10, key: caller?.name });
    metrics.observe({ method, route: route.path, status, seconds: ms / 1_000, has_failed: hasFailed });
  }
}

/** A request in progress. */
interface Carried {
  readonly request: LinkRequest;
  readonly route: CompiledRoute;
  readonly asked: LinkAsked;
  readonly started_at: number;
}

const JSON_TYPE = /^application\/json(; *charset=utf-8)?$/i;

function placeOf({ client_address: client, host, is_secure: isSecure, method, path }: LinkRequest, prefix: string) {
  const place: RouteAddress = {
    method,
    scheme: isSecure ? "https" : "http",
    host: plainHost(host),
    path,
    root_path: prefix,
    params: {},
    client: client === "" ? null : [client, 0],
  };
  return place;
}

/** Whether a route needs only the method, path, head and a short JSON body of a request. */
function isDirect(route: CompiledRoute): boolean {
  const { method, path, streams, takes_any_body: takesAnyBody } = route;
  if (method === "ANY" || takesAnyBody === true) return false;
  return streams?.[0] !== "*" && !/[{*]/.test(path);
}

async function* toBytes(pieces: AsyncIterable<Uint8Array | string>, ended: () => void): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of pieces) yield typeof piece === "string" ? Buffer.from(piece) : piece;
  } finally {
    ended();
  }
}
