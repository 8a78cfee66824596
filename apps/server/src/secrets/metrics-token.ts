import { createHash, timingSafeEqual } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { Secret } from "@appdb/system/secret";

const BEARER = /^bearer +(\S+)$/i;

/** Whether a request has the operator's token. False if none is set. */
export function hasMetricsToken(authorization: string | undefined, token: Secret | undefined): boolean {
  const received = BEARER.exec(authorization ?? "")?.[1];
  if (received === undefined || token === undefined) return false;
  // hashed to equal lengths for a constant-time comparison
  return timingSafeEqual(digest(received), digest(token.reveal()));
}

/** Refuses metrics to callers without the token. */
export function noMetricsToken(token: Secret | undefined): Error {
  return appError("unauthorized", {
    detail:
      token === undefined
        ? "This server has no SERVICE_METRICS_TOKEN, so its metrics are not available."
        : "The request does not have the token of SERVICE_METRICS_TOKEN.",
    hint: "Set SERVICE_METRICS_TOKEN, and send it: Authorization: Bearer <token>",
  });
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
