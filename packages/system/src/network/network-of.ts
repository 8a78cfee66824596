import { isIPv6 } from "node:net";

const GROUPS = 8;
/** Smallest IPv6 network that providers assign to a customer: 2^64 addresses. */
const NETWORK_GROUPS = 4;

/**
 * Network that attempts are counted for: an IPv4 address, or the /64 network of an IPv6 address, because one person
 * controls all its addresses.
 */
export function networkOf(address: string): string {
  const plain = address.replace(/%.*$/, "");
  if (!isIPv6(plain)) return address;
  const v4 = /^::ffff:([\d.]+)$/i.exec(plain)?.[1];
  if (v4 !== undefined) return v4;
  const [head = "", tail] = plain.split("::").map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = tail === undefined ? 0 : GROUPS - head.length - tail.length;
  const groups = [...head, ...Array.from({ length: zeros }, () => "0"), ...(tail ?? [])];
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}
