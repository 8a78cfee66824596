import { dropBody } from "@appdb/http/drop-body";
import type { Exchange } from "../exchange/exchange.ts";

/** How long a refused body may continue: a client that writes without reading would miss the answer otherwise. */
const LINGER_MS = 2_000;

/**
 * Keeps the connection of an answer that comes before the end of its request, also for a client that asks to close it:
 * Node.js would close it at the end of the answer, which the rest of the body then destroys. Call it before the head.
 */
export function keepForRest({ req, res }: Pick<Exchange, "req" | "res">): void {
  if (req.complete || !("shouldKeepAlive" in res)) return;
  if (!res.shouldKeepAlive) closeAfterRest(req, res);
  res.shouldKeepAlive = true;
}

/** Closes the connection of a client that asked for it: after its answer and its body. */
function closeAfterRest(req: Exchange["req"], res: Exchange["res"]): void {
  const close = () => {
    if (req.complete && res.writableFinished) req.socket.destroySoon();
  };
  req.once("end", close);
  res.once("finish", close);
}

/** Drops the rest of a request that has its answer. */
export function dropRest({ req }: Pick<Exchange, "req">): void {
  if (req.complete) return;
  if ("stream" in req) req.resume();
  else dropBody(req, LINGER_MS);
}
