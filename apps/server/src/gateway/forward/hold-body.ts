import type { ByteBudget } from "../admission/byte-budget.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { noMemory } from "../exchange/refusals.ts";
import { ownerOf } from "./follow-answer.ts";

type Held = Pick<Exchange, "caller" | "database" | "is_admitted" | "held_bytes">;

/** Counts the bytes of a request's body until `releaseBody`. @throws overloaded */
export function holdBody(exchange: Held, budget: ByteBudget, bytes: number): void {
  if (!budget.tryReserve(ownerOf(exchange), bytes)) throw noMemory(budget.share_bytes);
  exchange.held_bytes += bytes;
}

/** Ends the count. Safe to repeat. */
export function releaseBody(exchange: Held, budget: ByteBudget): void {
  if (exchange.held_bytes === 0) return;
  budget.give(ownerOf(exchange), exchange.held_bytes);
  exchange.held_bytes = 0;
}
