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

/** Limits requests that need no key: health checks, preflights and the docs page. They use no slot of a service. */
export interface Strangers {
  /** Counts a request until its answer has left, its client disconnects, or `maxMs` have passed. @throws overloaded */
  begin(exchange: Pick<Exchange, "res" | "client_address" | "database">): void;
}

/** @param maxMs maximum duration, including the answer; then the connection or stream is closed */
export function createStrangers(maxMs: number): Strangers {
  const addresses = new Map<string, number>();
  const organizations = new Map<string, number>();
  let total = 0;
  return {
    begin({ client_address: clientAddress, database, res }) {
      const address = networkOf(clientAddress);
      const organization = database?.organization ?? "";
      const ofAddress = addresses.get(address) ?? 0;
      const ofOrganization = organizations.get(organization) ?? 0;
      const isFull = ofAddress >= STRANGERS_OF_ADDRESS || ofOrganization >= STRANGERS_OF_ORGANIZATION;
      if (isFull || total >= STRANGERS_AT_ONCE) throw refusals.tooManyStrangers();
      addresses.set(address, ofAddress + 1);
      organizations.set(organization, ofOrganization + 1);
      total += 1;
      let hasEnded = false;
      const end = () => {
        if (hasEnded) return;
        hasEnded = true;
        clearTimeout(timer);
        countDown(addresses, address);
        countDown(organizations, organization);
        total -= 1;
      };
      const timer = setTimeout(() => {
        res.destroy();
        // a response queued behind others of its connection emits no event on failure
        end();
      }, maxMs);
      res.once("close", end);
    },
  };
}
