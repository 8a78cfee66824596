import type { GatewayLimits } from "../../config/config-gateway.ts";
import { type ByteBudget, STRANGERS } from "../admission/byte-budget.ts";
import { type Exchange, isGone } from "../exchange/exchange.ts";

/** A client takes what is left of an answer at this pace or faster. */
const BYTES_A_MS = 16;

/** Whose share of memory a request uses. */
export function ownerOf({ caller, database }: Pick<Exchange, "caller" | "database">): string {
  return caller === null || database === undefined ? STRANGERS : database.org_id;
}

/**
 * Watches an answer that is written but has not left yet. Its bytes count until they leave. The connection or stream of a client that does not
 * take them within `client_ms`, and a second for each 16,000 bytes, is ended.
 */
export function followAnswer(
  exchange: Pick<Exchange, "req" | "res" | "caller" | "database">,
  budget: ByteBudget,
  { client_ms: clientMs }: Pick<GatewayLimits, "client_ms">,
): void {
  const { res } = exchange;
  // of short answers over HTTP/1.1 nearly always
  if (res.writableFinished || isGone(exchange)) return;
  const bytes = res.writableLength;
  const owner = ownerOf(exchange);
  if (!budget.take(owner, bytes)) {
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
      // an answer in a queue behind others of its connection tells nobody of its end
      end();
    },
    clientMs + bytes / BYTES_A_MS,
  );
  res.once("close", end);
}
