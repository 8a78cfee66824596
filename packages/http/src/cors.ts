import type { ManifestCors } from "@appdb/contract/manifest";

const LOOPBACK_ORIGIN = /^https?:\/\/(localhost|[\w-]+\.localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;
const EXPOSED =
  "x-request-id, x-cell-errors, link, etag, retry-after, server-timing, idempotency-replayed, ratelimit, ratelimit-policy";
const KNOWN_HEADERS =
  "content-type, x-request-id, x-api-key, authorization, prefer, idempotency-key, if-none-match, last-event-id";

/** What a service says of pages of other origins: its router's `cors`; `null`: nothing; `own`: it answers such questions itself. */
export type CorsRule = ManifestCors | "own" | null;

/**
 * Headers that let a page read an answer. Without a rule pages that this machine serves may, others may not, since whoever
 * can reach a service may write to it. (Only JSON bodies are taken, so a foreign page cannot write blindly either; a handler
 * that takes the bytes of any body has to see to that itself.)
 */
export function corsHeaders(origin: string, rule: CorsRule): Record<string, string> {
  if (rule === "own") return {};
  if (rule === null) return LOOPBACK_ORIGIN.test(origin) ? allow(origin) : {};
  const isAny = rule.origins.includes("*");
  // A cache must not give one origin what was answered to another.
  if (!isAny && !rule.origins.includes(origin)) return { vary: "origin" };
  const credentials = rule.credentials ? { "access-control-allow-credentials": "true" } : {};
  return { ...allow(isAny ? "*" : origin), ...credentials };
}

/** What a browser asks before it sends more than a form could. */
export function preflightHeaders(origin: string, methods: readonly string[], rule: CorsRule): Record<string, string> {
  const allowed = corsHeaders(origin, rule);
  if (allowed["access-control-allow-origin"] === undefined) return allowed;
  const { methods: only, headers, max_age_s: maxAgeS } = rule === null || rule === "own" ? ANY : rule;
  return {
    ...allowed,
    "access-control-allow-methods": methods.filter((method) => only === null || only.includes(method)).join(", "),
    "access-control-allow-headers": headers === null ? KNOWN_HEADERS : headers.join(", "),
    "access-control-max-age": String(maxAgeS),
  };
}

const ANY = { methods: null, headers: null, max_age_s: 600 } as const;

function allow(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED,
    ...(origin === "*" ? {} : { vary: "origin" }),
  };
}
