import type { ManifestCors } from "@appdb/contract/manifest";

const LOOPBACK_ORIGIN = /^https?:\/\/(localhost|[\w-]+\.localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;
const EXPOSED =
  "x-request-id, x-cell-errors, link, etag, retry-after, server-timing, idempotency-replayed, ratelimit, ratelimit-policy, accept-ranges, content-range, content-disposition";
const KNOWN_HEADERS =
  "content-type, x-request-id, x-api-key, authorization, prefer, idempotency-key, if-none-match, if-range, range, last-event-id";

/**
 * CORS setting of a service: the router's `cors`; `null` for none; `own` when the service answers preflight requests
 * itself.
 */
export type CorsRule = ManifestCors | "own" | null;

/**
 * Headers that let a page read a response. Without a rule, only pages served from this machine may read it, since every
 * client that reaches a service may write to it. Only JSON bodies are accepted, so a foreign page cannot write blindly
 * either. A handler that accepts bodies of any type must check this itself.
 */
export function corsHeaders(origin: string, rule: CorsRule): Record<string, string> {
  if (rule === "own") return {};
  if (rule === null) return LOOPBACK_ORIGIN.test(origin) ? allow(origin) : {};
  const isAny = rule.origins.includes("*");
  // prevents a cache from serving one origin's response to another
  if (!isAny && !rule.origins.includes(origin)) return { vary: "origin" };
  const credentials = rule.credentials ? { "access-control-allow-credentials": "true" } : {};
  return { ...allow(isAny ? "*" : origin), ...credentials };
}

/** Answer to a browser's preflight request, which precedes anything a form could not send. */
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
