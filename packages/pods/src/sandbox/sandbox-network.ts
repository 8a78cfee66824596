import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { appError } from "@appdb/contract/errors";
import { DENIED_NETWORKS } from "../driver/pod-driver.ts";

/** The network between a pod and its way out: of those that are for documents, so that no machine is hidden by it. */
const CIDR = "192.0.2.0/24";
/** Who answers for names there: the machine's own resolver, and nothing else of that machine. */
export const RESOLVER = "192.0.2.3";

/** A host of the operator's that may be reached although its network is denied. */
export interface AllowedHost {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly port: number;
}

/**
 * Finds where the operator's hosts are, `host:port` or `[address]:port`. The pod asks nobody for their names: what they are at
 * its start holds until its end.
 * @throws pod_failed for one that cannot be reached from a network of its own, or is not found
 */
export async function findAllowedHosts(hosts: readonly string[]): Promise<AllowedHost[]> {
  return await Promise.all(hosts.map(findAllowedHost));
}

async function findAllowedHost(host: string): Promise<AllowedHost> {
  const [, bracketed, plain, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(host) ?? [];
  const name = bracketed ?? plain;
  if (name === undefined) {
    throw unreachable(host, "expected host:port", "Name it with its port: packages.example.com:443");
  }
  const found = await lookup(name, { all: true }).catch((error: unknown) => {
    throw unreachable(host, "its name is not known here", "Look how it is written, or name it by its address.", error);
  });
  const addresses = [...new Set(found.map(({ address }) => address))];
  if (addresses.some((address) => address === "::1" || address.startsWith("127."))) {
    throw unreachable(
      host,
      "it is this machine's own loopback, which a pod's network does not have",
      "Let it listen on another address of this machine, and name that one.",
    );
  }
  return { name, addresses, port: Number(port) };
}

function unreachable(host: string, why: string, hint: string, cause?: unknown): Error {
  const detail = `The host ${host} cannot be let through: ${why}.`;
  return appError("pod_failed", { detail, hint, ...(cause === undefined ? {} : { cause }) });
}

/** What of this machine's own addresses matters to a pod. */
export interface MachineAddresses {
  /** Without those of its loopback, which no pod reaches anyway. */
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
  /** Whether it is in the internet of version 6. */
  readonly has_ipv6: boolean;
}

/** The addresses of this machine now. */
export function machineAddresses(interfaces = networkInterfaces()): MachineAddresses {
  const all = Object.values(interfaces).flatMap((entries) => entries ?? []);
  const of = (family: NetworkInterfaceInfo["family"]) => [
    ...new Set(all.filter((entry) => entry.family === family && !entry.internal).map(({ address }) => address)),
  ];
  const ipv6 = of("IPv6");
  // 2000::/3 is what is given out for the internet
  return { ipv4: of("IPv4"), ipv6, has_ipv6: ipv6.some((address) => /^[23]/.test(address)) };
}

/**
 * The rules of a pod's network, for `nft -f -`. They are made by the namespace that owns the network, in which nothing of the pod
 * has any right: it cannot change them. They decide by what the kernel sends, however the program wrote the address. Of the
 * machines that answer for names (`resolvers`) nothing else is reached.
 */
export function networkRules(
  machine: MachineAddresses,
  allowed: readonly AllowedHost[],
  resolvers: readonly string[] = [RESOLVER],
): string {
  const to = (address: string) => `${isIP(address) === 6 ? "ip6" : "ip"} daddr ${address}`;
  const exceptions = allowed.flatMap(({ addresses, port }) =>
    addresses.map((address) => `${to(address)} tcp dport ${port} accept`),
  );
  return [
    "table inet pod {",
    "chain output {",
    "type filter hook output priority 0; policy drop;",
    'oifname "lo" accept',
    ...resolvers.map((address) => `${to(address)} meta l4proto { tcp, udp } th dport 53 accept`),
    ...exceptions,
    "icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } accept",
    ...reject("ip", DENIED_NETWORKS.ipv4),
    ...reject("ip6", DENIED_NETWORKS.ipv6),
    // apart from the networks: a set may not hold an address and the network that it is in
    ...reject("ip", machine.ipv4),
    ...reject("ip6", machine.ipv6),
    "accept",
    "}",
    "}",
    "",
  ].join("\n");
}

function reject(family: "ip" | "ip6", networks: readonly string[]): string[] {
  if (networks.length === 0) return [];
  return [`${family} daddr { ${networks.join(", ")} } reject with icmpx type admin-prohibited`];
}

/** Options of slirp4netns, by which packets leave the pod's network. */
export function uplinkOptions(machine: MachineAddresses): string[] {
  return [`--cidr=${CIDR}`, ...(machine.has_ipv6 ? ["--enable-ipv6"] : [])];
}
