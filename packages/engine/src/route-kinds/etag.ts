import { hash } from "node:crypto";
import type { RouteAnswer } from "../answers/answers.ts";

/** Stored answers are good as long as the service says so: a client asks again, and reads 304 when nothing has changed. */
const CACHE_CONTROL = "no-cache";

/** Gives an answer to GET its ETag, a digest of what it says; 304 without a body when the client has that answer already. */
export function withEtag(
  answer: RouteAnswer & { readonly body: string },
  headers: Readonly<Record<string, string | string[] | undefined>>,
): RouteAnswer {
  const { link } = answer.headers;
  const digest = hash("sha1", link === undefined ? answer.body : `${link}\n${answer.body}`, "base64url");
  const etag = `"${digest}"`;
  const tagged = { ...answer.headers, etag, "cache-control": CACHE_CONTROL, vary: "accept" };
  if (!isKnown(headers["if-none-match"], etag)) return { ...answer, headers: tagged };
  const { "content-type": _type, ...kept } = tagged as Record<string, string>;
  return { status: 304, headers: kept, body: "" };
}

/** Whether one of the client's tags is ours. They are compared weakly: a proxy that compresses marks tags with `W/`. */
function isKnown(sent: string | string[] | undefined, etag: string): boolean {
  if (sent === undefined) return false;
  const tags = String(sent);
  if (tags.trim() === "*") return true;
  return tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
