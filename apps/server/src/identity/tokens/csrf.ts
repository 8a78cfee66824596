import type { IncomingHttpHeaders } from "node:http";
import { appError } from "@appdb/contract/errors";

/** Where people reach the server. Known once it listens, when its port was chosen then. */
export interface Site {
  url: string;
}

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses a change that a page of another site asks for. A browser says whose page it is by Origin or Sec-Fetch-Site;
 * who shows a cookie without either may be anyone.
 * @throws csrf_refused
 */
export function refuseForeignSite(site: Site, method: string, headers: IncomingHttpHeaders, byCookie: boolean): void {
  if (SAFE_METHODS.has(method)) return;
  const { origin } = headers;
  const from = headers["sec-fetch-site"];
  const isOurs = origin === undefined ? from === "same-origin" : origin === site.url;
  // without a cookie nobody acts in another's name: only what says that it is foreign is refused, such as a sign-in
  const isSilent = origin === undefined && (from === undefined || from === "none");
  if (isOurs || (!byCookie && isSilent)) return;
  throw appError("csrf_refused", {
    detail: `The request comes from ${describe(origin, from)}, not from a page of ${site.url}.`,
    hint: `Open ${site.url} in the browser. Programs show a key in X-api-key or a session in Authorization.`,
  });
}

function describe(origin: string | undefined, from: string | string[] | undefined): string {
  if (origin !== undefined) return JSON.stringify(origin.slice(0, 200));
  return from === undefined ? "an unknown place" : "another site";
}
