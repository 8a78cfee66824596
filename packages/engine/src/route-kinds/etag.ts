import { hash } from "node:crypto";
import type { RouteAnswer } from "../answers/answers.ts";

/** Clients must revalidate a cached response, and get 304 when nothing has changed. */
const CACHE_CONTROL = "no-cache";

/** Adds an ETag, a digest of the body, to a GET response. Gives 304 without a body when the client has that
 *  response. */
export function withEtag(
  answer: RouteAnswer & { readonly body: string },
  headers: Readonly<Record<string, string | string[] | undefined>>,
): RouteAnswer {
  const { link } = answer.headers;
  const digest = hash("sha1", link === undefined ? answer.body : `${link}\n${answer.body}`, "base64url");
  const etag = `"${digest}"`;
  const tagged = { ...answer.headers, etag, "cache-control": CACHE_CONTROL, vary: "accept" };
  if (!isKnown(headers["if-none-match"], etag)) return { ...answer, headers: tagged };
  const { "content-type": _type, ...otherHeaders } = tagged as Record<string, string>;
  return { status: 304, headers: otherHeaders, body: "" };
}

/** Whether the client sent our tag. Comparison is weak, because a proxy that compresses prefixes tags with `W/`. */
function isKnown(sent: string | string[] | undefined, etag: string): boolean {
  if (sent === undefined) return false;
  const tags = String(sent);
  if (tags.trim() === "*") return true;
  return tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
