import { appError } from "@appdb/contract/errors";
import { type Once, onceOf } from "../idempotency/request-store.ts";
import type { RouteRequest } from "./route.ts";

export const IDEMPOTENCY_HEADER = "idempotency-key";
/** Maximum length of a key, in characters. */
export const LONGEST_KEY = 255;
/** The caller of a service on this machine, where callers have no keys of their own. */
export const LOCAL_CALLER = "local";

const VISIBLE_ASCII = /^[!-~]+$/;

/**
 * The identity of a request with a key. Scope: the caller and the place (target, service, method and path). Content:
 * address and body. Undefined without a key.
 * @throws invalid_idempotency_key
 */
export function readIdempotencyKey(request: RouteRequest, routeText: string): Once | undefined {
  if (request.once !== undefined) return request.once;
  const key = request.headers[IDEMPOTENCY_HEADER];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || key.length > LONGEST_KEY || !VISIBLE_ASCII.test(key)) throw invalidKey(key);
  return onceOf(`${routeText} ${request.caller?.id ?? LOCAL_CALLER}`, key, requestContent(request));
}

/** Address and body as one value. The address of a changing route nearly always has no query string. */
function requestContent({ search, body }: RouteRequest): string | Uint8Array {
  if (search === undefined || search === "") return body;
  return typeof body === "string" ? `${search}\0${body}` : Buffer.concat([Buffer.from(`${search}\0`), body]);
}

function findKeyProblem(key: string | readonly string[]): string {
  if (typeof key !== "string") return "occurs several times";
  if (key.length > LONGEST_KEY) return `has ${key.length} characters`;
  return key === "" ? "is empty" : "has a character that is not visible ASCII, or occurs several times";
}

function invalidKey(key: string | readonly string[]): Error {
  return appError("invalid_idempotency_key", {
    detail: `The header Idempotency-Key ${findKeyProblem(key)}; it must have 1 to ${LONGEST_KEY} visible ASCII characters, without spaces.`,
    hint: "Send a new random UUID with each request, and the same one for a retry.",
    meta: { most_characters: LONGEST_KEY },
  });
}
