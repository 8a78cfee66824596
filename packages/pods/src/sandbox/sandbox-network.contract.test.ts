import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { useSandbox } from "@appdb/testkit/sandbox";
import { afterAll, beforeAll, expect, test } from "vitest";

/**
 * A machine with an internet address, and a second network namespace for all other hosts. No packet leaves these two.
 */
const MACHINE = `appdb-m${process.pid}`;
const WORLD = `appdb-w${process.pid}`;
const PUBLIC = "93.184.216.34";
const PUBLIC_IPV6 = "2a00:1::34";
const OWN = ["93.184.216.33", "2a00:1::33"];
const INDEX = "10.20.30.40";
const DENIED = [
  "10.1.2.3",
  "100.64.1.1",
  "169.254.169.254",
  "172.16.5.5",
  "192.168.7.7",
  "198.18.0.9",
  "fd12::1",
  "64:ff9b::a9fe:a9fe",
  "2002:a9fe:a9fe::1",
  "fec0::1",
  "2001:db8::7",
  "::a9fe:a9fe",
];
/**
 * Resolver of that machine, in a network that pods cannot reach. The second name has an address that pods cannot reach.
 */
const RESOLVER = "10.1.2.3";
const NAMES = { "public.test": PUBLIC, "metadata.test": "169.254.169.254" };
/** Spellings of the metadata address that all mean the same address. */
const WRITTEN = [
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "169.254.43518",
  "::ffff:169.254.169.254",
  "::ffff:a9fe:a9fe",
];
const LOOPBACK = ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "localhost", "192.0.2.2", "::ffff:127.0.0.1"];

const SERVE = `import json, socket, socketserver, sys, threading
def answer_names(address, known):
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind((address, 53))
    while True:
        asked, sender = names.recvfrom(512)
        end = asked.index(0, 12) + 1
        found = next((known[name] for name in known if asked[12:].startswith(bytes([len(name.split(".")[0])]) + name.split(".")[0].encode())), None)
        is_found = found is not None and asked[end:end + 2] == bytes([0, 1])
        head = asked[:2] + bytes([0x81, 0x80, 0, 1, 0, is_found, 0, 0, 0, 0]) + asked[12:end + 4]
        record = bytes([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4]) + socket.inet_aton(found) if is_found else b""
        names.sendto(head + record, sender)
if len(sys.argv) > 1: threading.Thread(target=answer_names, args=(sys.argv[1], json.loads(sys.argv[2])), daemon=True).start()
class Answer(socketserver.BaseRequestHandler):
    def handle(self): self.request.sendall(b"reached")
class Server(socketserver.ThreadingTCPServer):
    address_family = 10
    allow_reuse_address = True
server = Server(("::", 80), Answer)
print("listens", flush=True)
server.serve_forever()`;

const REACH = `import json, socket, sys, time
def reach(host, port=80):
    try:
        with socket.create_connection((host, port), 3) as connection:
            connection.settimeout(3)
            return connection.recv(10).decode()
    except OSError as error:
        return type(error).__name__
# the way to version 6 opens some seconds after the network, when the kernel has heard of it
until = time.monotonic() + float(sys.argv.pop(1))
while time.monotonic() < until and reach(sys.argv[1]) != "reached": time.sleep(0.1)
print(json.dumps({host: reach(*host.rsplit("|", 1)) if "|" in host else reach(host) for host in sys.argv[1:]}))`;

const options = await useSandbox();
let folder: string;
const servers: ReturnType<typeof spawn>[] = [];
const ip = (...args: string[]) => execFileSync("ip", args, { timeout: 10_000 });
const inside = (network: string, ...argv: string[]) => [`--net=/run/netns/${network}`, "--", ...argv];

beforeAll(async () => {
  if (options === undefined) return;
  folder = mkdtempSync(join(tmpdir(), "network-"));
  for (const name of [MACHINE, WORLD]) ip("netns", "add", name);
  ip("link", "add", "out", "netns", MACHINE, "type", "veth", "peer", "name", "in", "netns", WORLD);
  for (const [name, link] of [
    [MACHINE, "out"],
    [WORLD, "in"],
  ] as const) {
    for (const one of ["lo", link]) ip("-n", name, "link", "set", one, "up");
  }
  for (const address of OWN)
    ip(
      "-n",
      MACHINE,
      "addr",
      "add",
      `${address}/${address.includes(":") ? 64 : 24}`,
      "dev",
      "out",
      ...(address.includes(":") ? ["nodad"] : []),
    );
  for (const address of [PUBLIC, PUBLIC_IPV6, INDEX, ...DENIED]) {
    const isIpv6 = address.includes(":");
    ip("-n", WORLD, "addr", "add", `${address}/${isIpv6 ? 64 : 24}`, "dev", "in", ...(isIpv6 ? ["nodad"] : []));
  }
  ip("-n", MACHINE, "route", "add", "default", "via", PUBLIC);
  ip("-n", MACHINE, "-6", "route", "add", "default", "via", PUBLIC_IPV6);
  for (const network of [MACHINE, WORLD]) {
    const names = network === WORLD ? [RESOLVER, JSON.stringify(NAMES)] : [];
    const server = spawn("nsenter", inside(network, "/usr/bin/python3", "-c", SERVE, ...names), {
      stdio: ["ignore", "pipe", "inherit"],
    });
    servers.push(server);
    if (server.stdout !== null) await once(server.stdout, "data");
  }
});

afterAll(async () => {
  if (options === undefined) return;
  for (const server of servers) {
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
  }
  for (const name of [MACHINE, WORLD]) ip("netns", "delete", name);
  rmSync(folder, { recursive: true, force: true });
});

/** Connects from the machine itself. */
function reachFromMachine(hosts: readonly string[]): Record<string, string> {
  const argv = inside(MACHINE, "/usr/bin/python3", "-c", REACH, "0", ...hosts);
  return JSON.parse(execFileSync("nsenter", argv, { encoding: "utf8", timeout: 60_000 }));
}

/** Settings that are visible only to programs of that machine. */
const WITH_SETTINGS = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';

/** Connects from a sandboxed task on that machine. */
async function reachFromTask(hosts: readonly string[], network: "none" | "internet", allowedHosts: string[] = []) {
  const task = {
    id: "reach",
    labels: { organization_id: "org-1", database_id: "db-1", kind: "database" },
    program: "/usr/bin/python3",
    args: ["-c", REACH, network === "none" ? "0" : "15", ...hosts],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    folders: [],
    limits: { cpu: 1, memory_mb: 128, tasks: 50, timeout_ms: 50_000, disk_bytes: 1_000_000, files: 1_000 },
    network,
    allowed_hosts: allowedHosts,
  };
  const input = {
    module: "@appdb/pods/sandbox/sandbox-pods",
    factory: "createSandboxPods",
    home: folder,
    options: { ...options, folder: join(folder, "pods"), program: { file: join(folder, "pod.js"), node_options: [] } },
    task,
  };
  const owner = fileURLToPath(new URL("../../../testkit/src/contracts/pod-owner.ts", import.meta.url));
  const argv = [process.execPath, "--conditions=source", "--import", "tsx", owner, JSON.stringify(input)];
  const settings = join(folder, "resolv.conf");
  writeFileSync(settings, `nameserver ${RESOLVER}\n`);
  const there = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", WITH_SETTINGS, settings, ...argv];
  const child = spawn("nsenter", inside(MACHINE, ...there), { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout?.on("data", (bytes: Buffer) => {
    said += String(bytes);
  });
  await once(child, "close");
  const line = said.split("\n").find((text) => text.startsWith("{")) ?? "";
  if (line === "") throw new Error(`The task said nothing: ${said}`);
  return JSON.parse(line) as Record<string, string>;
}

test.runIf(options !== undefined)("a sandbox reaches the internet and named hosts but no denied address", async () => {
  writeFileSync(join(folder, "pod.js"), "");
  const hosts = [PUBLIC, PUBLIC_IPV6, INDEX, ...OWN, ...DENIED, ...WRITTEN];
  const fromMachine = reachFromMachine(hosts);
  expect(Object.entries(fromMachine).filter(([, said]) => said !== "reached")).toEqual([]);
  const asked = [PUBLIC_IPV6, ...hosts, ...LOOPBACK, `${INDEX}|81`, ...Object.keys(NAMES), "nobody.test"];
  const fromTask = await reachFromTask(asked, "internet", [`${INDEX}:80`]);
  const reached = Object.keys(fromTask).filter((host) => fromTask[host] === "reached");
  expect(reached.sort()).toEqual([INDEX, PUBLIC_IPV6, PUBLIC, "public.test"].sort());
  // the name resolves to an unreachable address; an unknown name would fail differently
  expect([fromTask["metadata.test"], fromTask["nobody.test"]]).toEqual([fromTask["169.254.169.254"], "gaierror"]);
  const alone = await reachFromTask(asked, "none");
  expect(Object.values(alone).filter((said) => said === "reached")).toEqual([]);
});
