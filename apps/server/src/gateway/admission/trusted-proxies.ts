import { BlockList, isIP } from "node:net";
import type { GatewayRequest } from "../exchange/exchange.ts";

/** What a proxy that is believed says of a request. */
export interface Forwarded {
  /** The client's address. */
  readonly address: string;
  readonly is_secure: boolean;
  /** What the client asked for. */
  readonly host: string;
}

/** What a proxy says; undefined for a request that comes from somebody else, or when nobody is believed. */
export type ReadForwarded = (req: GatewayRequest, isSecure: boolean, host: string) => Forwarded | undefined;

const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};
const HOST = /^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$|^\[[0-9a-fA-F:.]{2,45}\](:\d{1,5})?$/;

/** Tells trusted proxies by their address. `proxies` as the settings have them: addresses, networks, and the names of the usual networks. */
export function createIsTrusted(proxies: readonly string[]): (address: string) => boolean {
  if (proxies.length === 0) return () => false;
  const believed = new BlockList();
  for (const entry of proxies.flatMap((name) => NAMED[name] ?? [name])) {
    const [network = "", bits] = entry.split("/");
    const family = isIP(network) === 6 ? "ipv6" : "ipv4";
    if (bits === undefined) believed.addAddress(network, family);
    else believed.addSubnet(network, Number(bits), family);
  }
  return (peer) => {
    const address = plainAddress(peer);
    const family = isIP(address);
    return family !== 0 && believed.check(address, family === 6 ? "ipv6" : "ipv4");
  };
}

/** `proxies` likewise. */
export function createReadForwarded(proxies: readonly string[]): ReadForwarded {
  if (proxies.length === 0) return () => undefined;
  const isBelieved = createIsTrusted(proxies);
  return (req, isSecure, host) => {
    const peer = plainAddress(req.socket.remoteAddress ?? "");
    if (!isBelieved(peer)) return undefined;
    const { headers } = req;
    const proto = lastOf(headers["x-forwarded-proto"]);
    const asked = lastOf(headers["x-forwarded-host"]);
    return {
      address: clientOf(peer, headers["x-forwarded-for"], isBelieved),
      is_secure: proto === "https" || (proto !== "http" && isSecure),
      host: asked !== undefined && HOST.test(asked) ? asked : host,
    };
  };
}

/** From the right: each proxy adds whom it heard, and what stands left of the first that is not believed may be made up. */
function clientOf(peer: string, said: string | string[] | undefined, isBelieved: (address: string) => boolean): string {
  let client = peer;
  for (const entry of String(said ?? "")
    .split(",")
    .reverse()) {
    const address = plainAddress(entry.trim());
    if (isIP(address) === 0) break;
    client = address;
    if (!isBelieved(address)) break;
  }
  return client;
}

/** What the nearest proxy said: one that adds to the list instead of writing it anew adds at its end. */
function lastOf(value: string | string[] | undefined): string | undefined {
  return value === undefined ? undefined : String(value).split(",").at(-1)?.trim();
}

/** An IPv4 address of a connection of IPv6 is the same client. */
function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
