const LOOPBACK_ORIGIN = /^https?:\/\/(localhost|[\w-]+\.localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/**
 * Headers that let a page read an answer: pages that this machine serves may, others may not, since whoever can reach a
 * service may write to it. (Only JSON bodies are taken, so a foreign page cannot write blindly either.)
 */
export function corsHeaders(origin: string): Record<string, string> {
  if (!LOOPBACK_ORIGIN.test(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "x-request-id, x-cell-errors, link, etag, server-timing, idempotency-replayed",
    vary: "origin",
  };
}

/** What a browser asks before it sends JSON. */
export function preflightHeaders(origin: string, methods: string): Record<string, string> {
  const allowed = corsHeaders(origin);
  if (Object.keys(allowed).length === 0) return {};
  return {
    ...allowed,
    "access-control-allow-methods": methods,
    "access-control-allow-headers":
      "content-type, x-request-id, x-api-key, authorization, prefer, idempotency-key, if-none-match, last-event-id",
    "access-control-max-age": "600",
  };
}
