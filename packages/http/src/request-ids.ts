import { randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** A caller's own id is taken when it can stand in a header and in a log line without harm. */
const SANE_ID = /^[\w.:-]{1,128}$/;

export const REQUEST_ID_HEADER = "x-request-id";

/** Makes a request's id: the caller's own, else one that no other process makes and that counts up. */
export function createRequestIds(): (headers: IncomingHttpHeaders) => string {
  const prefix = randomBytes(6).toString("base64url");
  let count = 0;
  return (headers) => {
    const own = headers[REQUEST_ID_HEADER];
    if (typeof own === "string" && SANE_ID.test(own)) return own;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
