import { networkOf } from "@appdb/system/network/network-of";
import type { Exchange } from "../exchange/exchange.ts";
import * as refusals from "../exchange/refusals.ts";
import { countDown } from "../exchange/request-counts.ts";

/** Requests without a key that are under way at once, in one gateway. */
export const STRANGERS_AT_ONCE = 512;
/** Of these, requests to the services of one organization. */
export const STRANGERS_OF_ORGANIZATION = 128;
/** Of these, requests of one address (of IPv6: one /64 network). */
export const STRANGERS_OF_ADDRESS = 32;

/** Such a request may take this many times as long as a client may be silent. */
export const STRANGER_TIMES = 2;

/** Bounds the requests that need no key: health checks, preflights and the docs page. They take no place of a service. */
export interface Strangers {
  /** Counts a request until its answer has left, its client is gone, or `most_ms` have passed. @throws overloaded */
  begin(exchange: Pick<Exchange, "res" | "client_address" | "database">): void;
}

/** @param mostMs how long such a request may take, its answer included; then its connection or stream ends */
export function createStrangers(mostMs: number): Strangers {
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
        // an answer in a queue behind others of its connection tells nobody of its end
        end();
      }, mostMs);
      res.once("close", end);
    },
  };
}
