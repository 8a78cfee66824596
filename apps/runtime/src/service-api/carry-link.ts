import { appError } from "@appdb/contract/errors";
import { answerError, FAILED_HEADER, type RouteAnswer } from "@appdb/engine/answers/answers";
import type { Logger } from "@appdb/engine/ports";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import { LINK_BODY_BYTES, type LinkAnswer, type LinkRequest } from "@appdb/pods/link/link";
import type { LinkAsked } from "@appdb/pods/link/serve-link";
import type { RequestLog } from "../daemon/logger.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { TrafficCounter } from "./traffic-counter.ts";

export interface CarryLinkDeps {
  readonly traffic: TrafficCounter;
  readonly metrics: RequestMetrics;
  readonly logRequest: RequestLog;
  readonly log: Logger;
}

/** The pod's message to the gateway: requests that it may send by the link, `POST /docs`. */
export interface LinkAbout {
  readonly routes: readonly string[];
}

const CLIENT_GONE = 499;

/** Passes requests of the gateway, which has checked their keys, to the same routes as HTTP. */
export class LinkCarrier {
  readonly about: LinkAbout;
  /** By method and path. */
  readonly #routes = new Map<string, Map<string, CompiledRoute>>();
  readonly #deps: CarryLinkDeps;

  constructor(routes: readonly CompiledRoute[], bodyBytes: number, deps: CarryLinkDeps) {
    // a service with a smaller body limit refuses bodies by HTTP
    const linked = bodyBytes < LINK_BODY_BYTES ? [] : routes.filter(isLinked);
    for (const route of linked) {
      const { method, path } = route;
      const ofMethod = this.#routes.get(method) ?? new Map<string, CompiledRoute>();
      this.#routes.set(method, ofMethod.set(path, route));
    }
    this.about = { routes: linked.map(({ method, path }) => `${method} ${path}`) };
    this.#deps = deps;
  }

  /** Answers a request; never rejects. */
  async handle(request: LinkRequest, link: LinkAsked): Promise<LinkAnswer> {
    const { traffic } = this.#deps;
    const { body, caller, headers, id, method, path, search } = request;
    const startedAt = performance.now();
    traffic.begin();
    const route = this.#routes.get(method)?.get(path);
    if (route === undefined) {
      const answer = answerError(noRoute(method, path), id, this.#deps.log);
      return this.#toLinkAnswer(answer, { request, route, asked: link, started_at: startedAt });
    }
    const signal = route.takes_signal ? link.signal : undefined;
    const answer = await route.handle({ body, search, headers, id, caller: caller?.id, signal });
    return this.#toLinkAnswer(answer, { request, route, asked: link, started_at: startedAt });
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
    metrics.observe({ method, route: route?.path ?? null, status, seconds: ms / 1_000, has_failed: hasFailed });
  }
}

/** A request in progress. */
interface Carried {
  readonly request: LinkRequest;
  readonly route: CompiledRoute | undefined;
  readonly asked: LinkAsked;
  readonly started_at: number;
}

/** Routes whose whole request consists of method, path, head and a short JSON body. */
function isLinked({ method, path, streams, takes_any_body: takesAnyBody }: CompiledRoute): boolean {
  return method !== "ANY" && takesAnyBody !== true && streams?.[0] !== "*" && !/[{*]/.test(path);
}

async function* toBytes(pieces: AsyncIterable<Uint8Array | string>, ended: () => void): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of pieces) yield typeof piece === "string" ? Buffer.from(piece) : piece;
  } finally {
    ended();
  }
}

/** The gateway knows the routes; an outdated one may request routes that a newer pod lacks. */
function noRoute(method: string, path: string): Error {
  return appError("not_found", {
    detail: `There is no route ${method} ${path} on the link.`,
    hint: "Send the request again.",
  });
}
