import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { networkOf } from "@appdb/system/network/network-of";
import type { GatewayLimits } from "../../config/config-gateway.ts";
import { countDown } from "../exchange/request-counts.ts";

/** Limits the connections of all servers of a gateway together. */
export interface ConnectionBounds {
  /** Closes connections above the limits right after they are accepted. */
  watch(server: EventEmitter): void;
}

/** @param isTrusted whether an address is a trusted proxy, which carries all clients and has no limit of its own */
export function createConnectionBounds(
  limits: Pick<GatewayLimits, "connections" | "address_connections">,
  isTrusted: (address: string) => boolean,
): ConnectionBounds {
  const addresses = new Map<string, number>();
  let total = 0;
  const take = (socket: Socket) => {
    const { remoteAddress = "" } = socket;
    const address = networkOf(remoteAddress);
    const ofAddress = addresses.get(address) ?? 0;
    const isFull = ofAddress >= limits.address_connections && !isTrusted(remoteAddress);
    if (isFull || total >= limits.connections) {
      socket.destroy();
      return;
    }
    addresses.set(address, ofAddress + 1);
    total += 1;
    socket.once("close", () => {
      countDown(addresses, address);
      total -= 1;
    });
  };
  return { watch: (server) => void server.prependListener("connection", take) };
}
