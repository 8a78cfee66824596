import type { IncomingHttpHeaders } from "node:http";
import { appError } from "@appdb/contract/errors";

/** The server's public address. Known once it listens, if the port is chosen then. */
export interface Site {
  url: string;
}

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses a change requested by a page of another site, by Origin or Sec-Fetch-Site. A request with a cookie but
 * without both headers is refused too.
 * @throws csrf_refused
 */
export function refuseForeignSite(site: Site, method: string, headers: IncomingHttpHeaders, byCookie: boolean): void {
  if (SAFE_METHODS.has(method)) return;
  const { origin } = headers;
  const from = headers["sec-fetch-site"];
  const isSameSite = origin === undefined ? from === "same-origin" : origin === site.url;
  // without a cookie there is no session to abuse: refuse only explicit foreign origins, for example at sign-in
  const isSilent = origin === undefined && (from === undefined || from === "none");
  if (isSameSite || (!byCookie && isSilent)) return;
  throw appError("csrf_refused", {
    detail: `The request comes from ${describe(origin, from)}, not from a page of ${site.url}.`,
    hint: `Open ${site.url} in the browser. Programs must send a key in X-api-key or a session in Authorization.`,
  });
}

function describe(origin: string | undefined, from: string | string[] | undefined): string {
  if (origin !== undefined) return JSON.stringify(origin.slice(0, 200));
  return from === undefined ? "an unknown origin" : "another site";
}
