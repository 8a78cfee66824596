import { lookup as dnsLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { appError } from "@appdb/contract/errors";

/** Networks that are this machine, its neighbours, or nobody. */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ...[["0.0.0.0", 8] as const, ["10.0.0.0", 8] as const, ["100.64.0.0", 10] as const, ["127.0.0.0", 8] as const],
  ...[
    ["169.254.0.0", 16] as const,
    ["172.16.0.0", 12] as const,
    ["192.0.0.0", 24] as const,
    ["192.0.2.0", 24] as const,
  ],
  ...[["192.168.0.0", 16] as const, ["198.18.0.0", 15] as const, ["198.51.100.0", 24] as const],
  ...[["203.0.113.0", 24] as const, ["224.0.0.0", 4] as const, ["240.0.0.0", 4] as const],
]) {
  PRIVATE.addSubnet(network, bits, "ipv4");
}
/** Of IPv6 only what is routed in public is reached, without the parts that carry IPv4 addresses inside. */
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

export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !PRIVATE.check(address, "ipv4");
  return family === 6 && PUBLIC_6.check(address, "ipv6") && !NOT_PUBLIC_6.check(address, "ipv6");
}

/**
 * The address of a webhook: https, no credentials in it, no address of this machine or a private network. With
 * `allow_private` (SERVICE_WEBHOOK_PRIVATE) any http or https address.
 * @throws webhook_refused
 */
export function checkWebhookUrl(text: string, allow_private: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) throw refused(text, "is no https address");
  if (url.username !== "" || url.password !== "")
    throw refused(`${url.protocol}//${url.host}`, "holds a user or password");
  if (allow_private) return url;
  if (url.protocol !== "https:") throw refused(text, "is not https");
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isPublicAddress(host))
    throw refused(text, "is an address of this machine or a private network");
  if (host === "localhost" || host.endsWith(".localhost")) throw refused(text, "is this machine");
  return url;
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

/** Resolves names for one connection: what it answers is what is connected to, so that a name cannot change in between. */
export const publicLookup: LookupFunction = (hostname, options, done) => {
  dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, "", 0);
    const [first] = addresses;
    const hidden = addresses.find(({ address }) => !isPublicAddress(address));
    if (first === undefined || hidden !== undefined) {
      return done(
        Object.assign(new Error("The name is of this machine or a private network."), { code: "EPRIVATE" }),
        "",
        0,
      );
    }
    if (options.all === true) done(null, addresses);
    else done(null, first.address, first.family);
  });
};

function refused(url: string, what: string): Error {
  return appError("webhook_refused", {
    detail: `Nothing can be posted to ${url.slice(0, 200)}: it ${what}.`,
    hint: "Give an https address that is reached over the internet.",
    meta: { url: url.slice(0, 200) },
  });
}
