import type { OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import { FAILED_HEADER } from "@appdb/engine/answers/answers";
import type { Exchange } from "../exchange/exchange.ts";
import { broken } from "../exchange/refusals.ts";

/**
 * Begins to tell a client what a service answered. What a pod says may be no answer: Node throws at a status or a header that is none, which
 * in an event's listener would end the gateway of all. Nothing was sent then, and the gateway may answer itself.
 * @throws service_broken
 */
export function beginAnswer(
  exchange: Pick<Exchange, "has_failed" | "res" | "service">,
  status: number,
  headers: OutgoingHttpHeaders | OutgoingHttpHeader[],
): void {
  const { res, service } = exchange;
  exchange.has_failed = Array.isArray(headers) ? headers.includes(FAILED_HEADER) : FAILED_HEADER in headers;
  try {
    if (status < 200 || status > 599) throw new RangeError(`a status of ${status}`);
    res.writeHead(status, headers);
  } catch {
    // HTTP/2 keeps those that it took
    for (const name of res.getHeaderNames()) if (!name.startsWith(":")) res.removeHeader(name);
    throw broken(service, false);
  }
}
