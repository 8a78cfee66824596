import type { OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import { FAILED_HEADER } from "@appdb/engine/answers/answers";
import type { Exchange } from "../exchange/exchange.ts";
import { broken } from "../exchange/refusals.ts";

/**
 * Sends the head of a service's answer to the client. Node throws on an invalid status or header, which would crash the
 * gateway if thrown in an event listener. Nothing was sent then, so the gateway can answer itself.
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
    // HTTP/2 keeps the headers that it accepted
    for (const name of res.getHeaderNames()) if (!name.startsWith(":")) res.removeHeader(name);
    throw broken(service, false);
  }
}
