import type { IncomingHttpHeaders, OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import { withoutDashboardCookies } from "@appdb/http/dashboard-cookies";
import { REQUEST_ID_HEADER } from "@appdb/http/request-ids";
import type { Exchange } from "../exchange/exchange.ts";
import { ownCookies, ownSiteData } from "./own-cookies.ts";

/** Between two neighbours alone. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "expect",
]);

/** What the gateway says itself: nobody else is believed. */
const OWN = new Set([
  "host",
  REQUEST_ID_HEADER,
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
  "x-forwarded-prefix",
  "x-forwarded-port",
  "forwarded",
  "x-real-ip",
]);

const SITE_DATA = "clear-site-data";

/** What a service is told: the client's headers as they were read once, so that gateway and service understand the same. */
export function requestHeaders(exchange: Exchange): OutgoingHttpHeaders {
  const { req, id, is_secure: isSecure, service, host } = exchange;
  const sent: OutgoingHttpHeaders = { host };
  const dropped = namedByConnection(req.headers);
  for (const [name, value] of Object.entries(req.headers)) {
    if (name.startsWith(":") || HOP_BY_HOP.has(name) || OWN.has(name) || dropped?.has(name) === true) continue;
    sent[name] = value;
  }
  dropDashboardCookies(sent);
  sent[REQUEST_ID_HEADER] = id;
  sent["x-forwarded-for"] = exchange.client_address;
  sent["x-forwarded-proto"] = isSecure ? "https" : "http";
  sent["x-forwarded-host"] = host;
  sent["x-forwarded-prefix"] = `/${service}`;
  // a body without a length has to be marked off: written bare, what follows would be read as another request
  if (hasBody(exchange) && sent["content-length"] === undefined) sent["transfer-encoding"] = "chunked";
  return sent;
}

/** What a service is told by a link: without the credential, which the gateway has looked at, and without what only HTTP needs. */
export function linkHeaders({ req }: Pick<Exchange, "req">): Record<string, string | string[]> {
  const { headers } = req;
  const sent: Record<string, string | string[]> = {};
  const dropped = namedByConnection(headers);
  const credential = headers["x-api-key"] === undefined ? "authorization" : "x-api-key";
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || name === credential || name.startsWith(":")) continue;
    if (HOP_BY_HOP.has(name) || OWN.has(name) || dropped?.has(name) === true) continue;
    sent[name] = value;
  }
  dropDashboardCookies(sent);
  return sent;
}

/** A service never sees the session of a person who uses the dashboard. */
function dropDashboardCookies(headers: { cookie?: OutgoingHttpHeader | undefined }): void {
  const { cookie } = headers;
  if (cookie === undefined) return;
  const kept = withoutDashboardCookies(String(cookie));
  if (kept === undefined) delete headers.cookie;
  else headers.cookie = kept;
}

/** What a client is told of what the service said. */
export function answerHeaders(
  headers: IncomingHttpHeaders,
  { headers: own, host }: Pick<Exchange, "headers" | "host">,
): OutgoingHttpHeaders {
  const sent: OutgoingHttpHeaders = {};
  const dropped = namedByConnection(headers);
  for (const [name, value] of Object.entries(headers)) {
    if (HOP_BY_HOP.has(name) || dropped?.has(name) === true) continue;
    sent[name] = value;
  }
  const cookies = sent["set-cookie"];
  if (cookies !== undefined) sent["set-cookie"] = ownCookies([cookies].flat().map(String), host);
  const forgotten = sent[SITE_DATA];
  if (forgotten !== undefined) {
    const kept = ownSiteData(String(forgotten));
    if (kept === undefined) delete sent[SITE_DATA];
    else sent[SITE_DATA] = kept;
  }
  return Object.assign(sent, own);
}

/** The same of names and values one after the other, for HTTP/1.1, which writes them as they stand; without the length of the body, which is for the caller to say. */
export function flatAnswerHeaders(
  flat: readonly string[],
  { headers: own, host }: Pick<Exchange, "headers" | "host">,
): OutgoingHttpHeader[] {
  const sent: OutgoingHttpHeader[] = [];
  let dropped: Set<string> | undefined;
  for (let at = 0; at + 1 < flat.length; at += 2) {
    if (flat[at]?.toLowerCase() === "connection") dropped = namedByConnection({ connection: flat[at + 1] });
  }
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [name = "", value = ""] = [flat[at], flat[at + 1]];
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || Object.hasOwn(own, lower) || dropped?.has(lower) === true) continue;
    if (lower === "content-length") continue;
    if (lower === "set-cookie") for (const cookie of ownCookies([value], host)) sent.push(name, cookie);
    else {
      const kept = lower === SITE_DATA ? ownSiteData(value) : value;
      if (kept !== undefined) sent.push(name, kept);
    }
  }
  for (const name in own) sent.push(name, own[name] ?? "");
  return sent;
}

/** Whether bytes follow the headers. */
export function hasBody({ req }: Pick<Exchange, "req">): boolean {
  const { headers } = req;
  if (headers["transfer-encoding"] !== undefined) return true;
  const length = headers["content-length"];
  if (length !== undefined) return length !== "0";
  return "stream" in req && !req.stream.endAfterHeaders;
}

function namedByConnection(headers: IncomingHttpHeaders): Set<string> | undefined {
  const { connection } = headers;
  if (connection === undefined || connection === "keep-alive" || connection === "close") return undefined;
  return new Set(
    // a pod may have said it twice on the link
    String(connection)
      .toLowerCase()
      .split(",")
      .map((name) => name.trim()),
  );
}
