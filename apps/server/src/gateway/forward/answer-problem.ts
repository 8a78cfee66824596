import type { OutgoingHttpHeaders } from "node:http";
import { AppError, toProblem } from "@appdb/contract/errors";
import { corsHeaders, preflightHeaders } from "@appdb/http/cors";
import { REQUEST_ID_HEADER } from "@appdb/http/request-ids";
import { type Exchange, isDisconnected } from "../exchange/exchange.ts";
import { dropRest, keepForRest } from "./unread-body.ts";

/** Answers with a problem document and returns its status. Other errors become `internal_error` without their text. */
export function answerProblem(
  exchange: Pick<Exchange, "req" | "res" | "id" | "headers" | "cors" | "code">,
  error: unknown,
): number {
  const { res, id } = exchange;
  const problem = toProblem(error, id);
  exchange.code = problem.code;
  const cors = corsOf(exchange);
  if (res.headersSent || isDisconnected(exchange)) {
    res.destroy();
    return problem.status;
  }
  const body = Buffer.from(JSON.stringify(problem));
  const headers: OutgoingHttpHeaders = {
    ...exchange.headers,
    ...cors,
    [REQUEST_ID_HEADER]: id,
    "content-type": "application/problem+json; charset=utf-8",
    "content-length": body.length,
    "cache-control": "no-store",
  };
  const retryAfterS = error instanceof AppError ? error.meta["retry_after_s"] : undefined;
  if (typeof retryAfterS === "number") headers["retry-after"] = String(retryAfterS);
  if (problem.status === 401) headers["www-authenticate"] = 'Bearer realm="services"';
  keepForRest(exchange);
  res.writeHead(problem.status, headers);
  res.end(body);
  dropRest(exchange);
  return problem.status;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/**
 * Answers a browser's preflight request by the `cors` of the service's release. Undefined for other requests, and for
 * services without `cors`: an application object may answer itself.
 */
export function answerPreflight({ cors, headers, req, res }: Exchange): number | undefined {
  const { origin } = req.headers;
  if (req.method !== "OPTIONS" || cors == null || origin === undefined || res.headersSent) return undefined;
  if (req.headers["access-control-request-method"] === undefined) return undefined;
  res.writeHead(204, { ...headers, ...preflightHeaders(origin, METHODS, cors) });
  res.end();
  return 204;
}

/** Lets a page that may read the service's answers read the error too. */
function corsOf({ cors, req }: Pick<Exchange, "cors" | "req">): Record<string, string> {
  const { origin } = req.headers;
  return cors == null || origin === undefined ? {} : corsHeaders(origin, cors);
}
