import type { IncomingMessage } from "node:http";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import { FAILED_HEADER } from "@appdb/engine/answers/answers";
import { HttpOfLink } from "@appdb/pods/link/as-http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { RequestLog } from "../daemon/logger.ts";
import { type CallerKeys, noKey } from "./caller-keys.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { TrafficCounter } from "./traffic-counter.ts";

export interface WatchDeps {
  readonly keys: Pick<CallerKeys, "check">;
  readonly traffic: TrafficCounter;
  readonly metrics: RequestMetrics;
  /** Logs a line for each request. */
  readonly logRequest: RequestLog;
  /** Checks the token of a signed address. Undefined: the service has none. @throws media_address_invalid */
  readonly checkAddress?: ((token: string) => unknown) | undefined;
}

/** An application object answers preflight requests itself, and must not do it with the rights of the owner. */
const STRANGER: RequestCaller = { id: "", reads_media: false };
/** Status that web servers use for requests that their client left. */
const CLIENT_GONE = 499;

/**
 * Requires a key for every request except health and preflight requests; a signed address is one too. Records each
 * request in the log, the metrics and the traffic counter.
 */
export function watchRequests(server: FastifyInstance, deps: WatchDeps): void {
  const { keys, traffic, metrics, logRequest } = deps;
  server.decorateRequest("caller", undefined);
  server.addHook("onRequest", (request, reply, done) => {
    const startedAt = performance.now();
    const { method, id, raw } = request;
    const route = request.routeOptions.url ?? null;
    const isHealth = request.routeOptions.config.is_open === true;
    let key: string | undefined;
    reply.raw.once("close", () => {
      const ms = performance.now() - startedAt;
      const status = reply.raw.writableFinished ? reply.raw.statusCode : CLIENT_GONE;
      const fields = { req: id, method, route: route ?? pathOf(raw), status, ms: Math.round(ms * 10) / 10, key };
      // log readers exclude these by default
      logRequest(isHealth ? { ...fields, health: true } : fields);
      const hasFailed = reply.raw.hasHeader(FAILED_HEADER);
      if (!isHealth) metrics.observe({ method, route, status, seconds: ms / 1_000, has_failed: hasFailed });
    });
    if (isHealth || isPreflight(request)) {
      request.caller = STRANGER;
      done();
      return;
    }
    try {
      const known = request.routeOptions.config.is_signed === true ? signed(request, deps) : shown(raw, keys);
      key = known?.name;
      request.caller = known ?? undefined;
    } catch (error) {
      done(error as Error);
      return;
    }
    traffic.begin();
    reply.raw.once("close", () => traffic.end());
    done();
  });
}

/** Keys of requests by the link were checked by the gateway. @throws unauthorized, forbidden, keys_unavailable */
function shown(raw: IncomingMessage, keys: WatchDeps["keys"]): Caller {
  if (!(raw instanceof HttpOfLink)) return keys.check(raw.headers);
  if (raw.caller === null) throw noKey("The request shows no API key.");
  return raw.caller;
}

/** The address is the right to its file, with or without a key. @throws media_address_invalid */
function signed({ params, raw }: FastifyRequest, { checkAddress }: WatchDeps): Caller | null {
  checkAddress?.((params as { token?: string }).token ?? "");
  return raw instanceof HttpOfLink ? raw.caller : null;
}

type Caller = NonNullable<HttpOfLink["caller"]>;

/** Browsers send preflight requests without a key. */
function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;
}

/** The query string is removed, because it may contain secrets. */
function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0]?.slice(0, 500) ?? "";
}
