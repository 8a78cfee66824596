import { networkOf } from "@appdb/system/network/network-of";
import type { Exchange } from "../exchange/exchange.ts";
import * as refusals from "../exchange/refusals.ts";
import { countDown } from "../exchange/request-counts.ts";

/** Concurrent requests without a key, in one gateway. */
export const STRANGERS_AT_ONCE = 512;
/** The maximum for one organization's services. */
export const STRANGERS_OF_ORGANIZATION = 128;
/** The maximum for one address (for IPv6: one /64 network). */
export const STRANGERS_OF_ADDRESS = 32;

/** Such a request may take this many times the client's silence limit. */
export const STRANGER_TIMES = 2;

/** Requests of one address that wait for a place: all streams of a page of pictures over HTTP/2. */
export const WAITING_OF_ADDRESS = 128;
/** How long they wait. */
const WAIT_MS = 5_000;
/** Timers may fire this much too early. */
const TICK_MS = 5;
/** All requests that wait. */
const MAX_WAITING = 512;

type Stranger = Pick<Exchange, "res" | "client_address" | "database">;

/** Limits requests without a key: health checks, preflights, the docs page and signed addresses. They use no slot of a
 *  service. */
export interface Strangers {
  /**
   * Counts a request until its answer has left, its client disconnects, or `maxMs` have passed. The returned function
   * ends the count, and the limit of its duration, for a request that turned out to have a right. @throws overloaded
   */
  begin(exchange: Stranger): () => void;
  /** The same, but waits for a place for a moment. @throws overloaded */
  beginSoon(exchange: Stranger): Promise<() => void>;
}

interface Waiting {
  readonly address: string;
  /** Whether it got a place or cannot get one any more. */
  tryBegin(): boolean;
}

/**
 * @param maxMs maximum duration, including the answer; then the connection or stream is closed
 * @param waitMs maximum wait for a place
 */
export function createStrangers(maxMs: number, waitMs = WAIT_MS): Strangers {
  const addresses = new Map<string, number>();
  const organizations = new Map<string, number>();
  let total = 0;
  let waiting: readonly Waiting[] = [];
  const isFull = (address: string, organization: string) =>
    (addresses.get(address) ?? 0) >= STRANGERS_OF_ADDRESS ||
    (organizations.get(organization) ?? 0) >= STRANGERS_OF_ORGANIZATION ||
    total >= STRANGERS_AT_ONCE;
  const letIn = () => {
    if (waiting.length > 0) waiting = waiting.filter((one) => !one.tryBegin());
  };
  const strangers: Strangers = {
    begin({ client_address: clientAddress, database, res }) {
      const address = networkOf(clientAddress);
      const organization = database?.organization ?? "";
      if (isFull(address, organization)) throw refusals.tooManyStrangers();
      addresses.set(address, (addresses.get(address) ?? 0) + 1);
      organizations.set(organization, (organizations.get(organization) ?? 0) + 1);
      total += 1;
      let hasEnded = false;
      const end = () => {
        if (hasEnded) return;
        hasEnded = true;
        clearTimeout(timer);
        countDown(addresses, address);
        countDown(organizations, organization);
        total -= 1;
        letIn();
      };
      const timer = setTimeout(() => {
        res.destroy();
        // a response queued behind others of its connection emits no event on failure
        end();
      }, maxMs);
      res.once("close", end);
      return end;
    },
    beginSoon(exchange) {
      const address = networkOf(exchange.client_address);
      const organization = exchange.database?.organization ?? "";
      return new Promise((resolve, reject) => {
        let until = Number.POSITIVE_INFINITY;
        const tryBegin = () => {
          if (exchange.res.destroyed || performance.now() >= until) {
            reject(refusals.tooManyStrangers());
            return true;
          }
          if (isFull(address, organization)) return false;
          resolve(strangers.begin(exchange));
          return true;
        };
        if (tryBegin()) return;
        const ofAddress = waiting.filter((one) => one.address === address).length;
        if (ofAddress >= WAITING_OF_ADDRESS || waiting.length >= MAX_WAITING) {
          reject(refusals.tooManyStrangers());
          return;
        }
        until = performance.now() + waitMs;
        waiting = [...waiting, { address, tryBegin }];
        setTimeout(letIn, waitMs + TICK_MS).unref();
      });
    },
  };
  return strangers;
}
