import type { GatewayLimits } from "../../config/config-gateway.ts";
import { type ByteBudget, STRANGERS } from "../admission/byte-budget.ts";
import { type Exchange, isDisconnected } from "../exchange/exchange.ts";

/** Minimum pace at which a client must read the rest of an answer. */
const BYTES_A_MS = 16;

/** The organization whose memory share a request uses. */
export function ownerOf({
  caller,
  database,
  is_admitted: isAdmitted = false,
}: Pick<Exchange, "caller" | "database" | "is_admitted">): string {
  return (caller === null && !isAdmitted) || database === undefined ? STRANGERS : database.org_id;
}

/**
 * Counts the bytes of a written answer until they leave. Ends the connection or stream of a client that does not read
 * them within `client_ms`, plus a second per 16,000 bytes.
 */
export function followAnswer(
  exchange: Pick<Exchange, "req" | "res" | "caller" | "database" | "is_admitted">,
  budget: ByteBudget,
  { client_ms: clientMs }: Pick<GatewayLimits, "client_ms">,
): void {
  const { res } = exchange;
  // usually true for short answers over HTTP/1.1
  if (res.writableFinished || isDisconnected(exchange)) return;
  const bytes = res.writableLength;
  const owner = ownerOf(exchange);
  if (!budget.tryReserve(owner, bytes)) {
    res.destroy();
    return;
  }
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(timer);
    budget.give(owner, bytes);
  };
  const timer = setTimeout(
    () => {
      res.destroy();
      // a response queued behind others of its connection emits no event on failure
      end();
    },
    clientMs + bytes / BYTES_A_MS,
  );
  res.once("close", end);
}
