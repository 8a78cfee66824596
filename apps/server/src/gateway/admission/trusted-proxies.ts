import { BlockList, isIP } from "node:net";
import type { GatewayRequest } from "../exchange/exchange.ts";

/** A request's origin according to a trusted proxy. */
export interface Forwarded {
  /** The client's address. */
  readonly address: string;
  readonly is_secure: boolean;
  /** The host that the client requested. */
  readonly host: string;
}

/** Reads the proxy's headers. Undefined if the sender is not a trusted proxy. */
export type ReadForwarded = (req: GatewayRequest, isSecure: boolean, host: string) => Forwarded | undefined;

const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};
const HOST = /^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$|^\[[0-9a-fA-F:.]{2,45}\](:\d{1,5})?$/;

/** Creates a check for trusted addresses. `proxies`: addresses, networks and network names, as in the settings. */
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

/** Creates the reader of a proxy's headers. `proxies` is as above. */
export function createReadForwarded(proxies: readonly string[]): ReadForwarded {
  if (proxies.length === 0) return () => undefined;
  const isBelieved = createIsTrusted(proxies);
  return (req, isSecure, host) => {
    const peer = plainAddress(req.socket.remoteAddress ?? "");
    if (!isBelieved(peer)) return undefined;
    const { headers } = req;
    const proto = lastOf(headers["x-forwarded-proto"]);
    const forwardedHost = lastOf(headers["x-forwarded-host"]);
    return {
      address: clientOf(peer, headers["x-forwarded-for"], isBelieved),
      is_secure: proto === "https" || (proto !== "http" && isSecure),
      host: forwardedHost !== undefined && HOST.test(forwardedHost) ? forwardedHost : host,
    };
  };
}

/** From the right: each proxy appends its peer, and everything left of the first untrusted address may be forged. */
function clientOf(
  peer: string,
  forwardedFor: string | string[] | undefined,
  isBelieved: (address: string) => boolean,
): string {
  let client = peer;
  for (const entry of String(forwardedFor ?? "")
    .split(",")
    .reverse()) {
    const address = plainAddress(entry.trim());
    if (isIP(address) === 0) break;
    client = address;
    if (!isBelieved(address)) break;
  }
  return client;
}

/** The value of the nearest proxy, which comes last if the proxy appends instead of replacing. */
function lastOf(value: string | string[] | undefined): string | undefined {
  return value === undefined ? undefined : String(value).split(",").at(-1)?.trim();
}

/** Unwraps an IPv4 address in IPv6 form. */
function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
