import { randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** Accepts a client's id when it is safe in a header and in a log line. */
const SANE_ID = /^[\w.:-]{1,128}$/;

export const REQUEST_ID_HEADER = "x-request-id";

/** Makes request ids: the client's id, otherwise an increasing id that is unique across processes. */
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
