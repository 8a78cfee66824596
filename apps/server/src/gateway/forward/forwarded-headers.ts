import type { IncomingHttpHeaders, OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import { withoutDashboardCookies } from "@appdb/http/dashboard-cookies";
import { REQUEST_ID_HEADER } from "@appdb/http/request-ids";
import type { Exchange } from "../exchange/exchange.ts";
import { ownCookies, ownSiteData } from "./own-cookies.ts";

/** Headers of a single connection. */
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

/** Headers that the gateway sets itself and never accepts from others. */
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

/** The headers for a service, without the credential and without headers of a single connection. */
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

/** Hides the dashboard's session from services. */
function dropDashboardCookies(headers: { cookie?: OutgoingHttpHeader | undefined }): void {
  const { cookie } = headers;
  if (cookie === undefined) return;
  const remaining = withoutDashboardCookies(String(cookie));
  if (remaining === undefined) delete headers.cookie;
  else headers.cookie = remaining;
}

/** The headers for a client, from a service's answer. */
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
    const remaining = ownSiteData(String(forgotten));
    if (remaining === undefined) delete sent[SITE_DATA];
    else sent[SITE_DATA] = remaining;
  }
  return Object.assign(sent, own);
}

/** The same as a flat list for HTTP/1.1, which is written unchanged. The caller sets the length of the body. */
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
      const remaining = lower === SITE_DATA ? ownSiteData(value) : value;
      if (remaining !== undefined) sent.push(name, remaining);
    }
  }
  for (const name in own) sent.push(name, own[name] ?? "");
  return sent;
}

/** Whether the request has a body. */
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
    // a pod may repeat the header on the link
    String(connection)
      .toLowerCase()
      .split(",")
      .map((name) => name.trim()),
  );
}
