import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { appError } from "@appdb/contract/errors";
import { DENIED_NETWORKS } from "../driver/pod-driver.ts";

/** Network between a pod and its uplink. It is reserved for documentation, so it hides no machine. */
const CIDR = "192.0.2.0/24";
/** Resolver address in that network. It forwards to the machine's resolver only. */
export const RESOLVER = "192.0.2.3";

/** An operator's host that is reachable although its network is denied. */
export interface AllowedHost {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly port: number;
}

/**
 * Resolves the operator's hosts, `host:port` or `[address]:port`. The pod does not resolve these names itself;
 * addresses found at its start hold until its end.
 * @throws pod_failed for a host that is not found or not reachable from a separate network
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
    throw unreachable(host, "its name cannot be resolved here", "Check its spelling, or use its address.", error);
  });
  const addresses = [...new Set(found.map(({ address }) => address))];
  if (addresses.some((address) => address === "::1" || address.startsWith("127."))) {
    throw unreachable(
      host,
      "it is this machine's own loopback, which a pod's network does not have",
      "Let it listen on another address of this machine, and use that address.",
    );
  }
  return { name, addresses, port: Number(port) };
}

function unreachable(host: string, reason: string, hint: string, cause?: unknown): Error {
  const detail = `The host ${host} cannot be allowed: ${reason}.`;
  return appError("pod_failed", { detail, hint, ...(cause === undefined ? {} : { cause }) });
}

/** Addresses of this machine that matter to a pod. */
export interface MachineAddresses {
  /** Without loopback addresses, which no pod can reach. */
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
  /** Whether it has a public IPv6 address. */
  readonly has_ipv6: boolean;
}

/** The machine's current addresses. */
export function machineAddresses(interfaces = networkInterfaces()): MachineAddresses {
  const all = Object.values(interfaces).flatMap((entries) => entries ?? []);
  const of = (family: NetworkInterfaceInfo["family"]) => [
    ...new Set(all.filter((entry) => entry.family === family && !entry.internal).map(({ address }) => address)),
  ];
  const ipv6 = of("IPv6");
  // 2000::/3 is the range for public internet addresses
  return { ipv4: of("IPv4"), ipv6, has_ipv6: ipv6.some((address) => /^[23]/.test(address)) };
}

/**
 * Rules of a pod's network for `nft -f -`. The namespace that owns the network installs them. The pod has no rights
 * there, so it cannot change them. They match packets, however a program wrote the address. The `resolvers` are
 * reachable for DNS only.
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
    // separate from the networks: a set may not contain an address and its network
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

/** Options of slirp4netns, which forwards packets from the pod's network. */
export function uplinkOptions(machine: MachineAddresses): string[] {
  return [`--cidr=${CIDR}`, ...(machine.has_ipv6 ? ["--enable-ipv6"] : [])];
}
