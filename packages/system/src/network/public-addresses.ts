import { lookup as dnsLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";

/** Networks of this machine, private networks, and reserved networks. */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8] as const,
  ["10.0.0.0", 8] as const,
  ["100.64.0.0", 10] as const,
  ["127.0.0.0", 8] as const,
  ["169.254.0.0", 16] as const,
  // Azure's service of virtual machines, which gives their settings
  ["168.63.129.16", 32] as const,
  ["172.16.0.0", 12] as const,
  ["192.0.0.0", 24] as const,
  ["192.0.2.0", 24] as const,
  // 6to4 relays
  ["192.88.99.0", 24] as const,
  ["192.168.0.0", 16] as const,
  ["198.18.0.0", 15] as const,
  ["198.51.100.0", 24] as const,
  ["203.0.113.0", 24] as const,
  ["224.0.0.0", 4] as const,
  ["240.0.0.0", 4] as const,
]) {
  PRIVATE.addSubnet(network, bits, "ipv4");
}
/** For IPv6, only publicly routed networks are allowed, without those that embed IPv4 addresses. */
const PUBLIC_6 = new BlockList();
PUBLIC_6.addSubnet("2000::", 3, "ipv6");
const NOT_PUBLIC_6 = new BlockList();
for (const [network, bits] of [
  ["2001::", 23] as const,
  ["2001:db8::", 32] as const,
  ["2002::", 16] as const,
  ["3fff::", 20] as const,
]) {
  NOT_PUBLIC_6.addSubnet(network, bits, "ipv6");
}

/** Whether a literal address is on the public internet. False for a name. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !PRIVATE.check(address, "ipv4");
  return family === 6 && PUBLIC_6.check(address, "ipv6") && !NOT_PUBLIC_6.check(address, "ipv6");
}

/**
 * Whether a literal address belongs to another machine on the internet: public, and not an address of this machine now.
 */
export function isForeignAddress(address: string, interfaces = networkInterfaces()): boolean {
  if (!isPublicAddress(address)) return false;
  const own = new BlockList();
  for (const entry of Object.values(interfaces).flatMap((entries) => entries ?? [])) {
    own.addAddress(entry.address, entry.family === "IPv6" ? "ipv6" : "ipv4");
  }
  return !own.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/**
 * Resolves a name for one connection. The connection uses exactly the checked address, so a name cannot change in
 * between.
 */
export const publicLookup: LookupFunction = (hostname, options, done) => {
  dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, "", 0);
    const [first] = addresses;
    const hidden = addresses.find(({ address }) => !isForeignAddress(address));
    if (first === undefined || hidden !== undefined) {
      return done(
        Object.assign(new Error("The name resolves to this machine or a private network."), { code: "EPRIVATE" }),
        "",
        0,
      );
    }
    if (options.all === true) done(null, addresses);
    else done(null, first.address, first.family);
  });
};
