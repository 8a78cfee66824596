import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import type { LocalDriver, LocalDriverInput } from "@appdb/pods/driver/local-driver";
import { createProcessPods } from "@appdb/pods/driver/process-pods";
import { machineAddresses } from "@appdb/pods/sandbox/sandbox-network";
import { createSandboxPods } from "@appdb/pods/sandbox/sandbox-pods";
import { createTestLayout } from "@appdb/testkit/contracts/test-layout";
import { useSandbox } from "@appdb/testkit/sandbox";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { describe, expect, test } from "vitest";
import type { HostedImagesOptions } from "./build-image.ts";
import { BUILD_LIMITS, type BuildLimits } from "./build-steps.ts";
import { sourceFiles } from "./testing/package-index.ts";
import { below, openTestBuilds, type TestBuilds } from "./testing/test-builds.ts";

/** A driver whose tasks build packages. */
interface AttackedBuilds {
  readonly name: LocalDriver["name"];
  create(input: LocalDriverInput): Promise<LocalDriver>;
  readonly isolates: boolean;
}

const MEGABYTE = 1024 ** 2;
/**
 * A secret of the server: in a file of its home, in its environment, in another organization's image, behind its
 * sockets.
 */
const SERVER_KEY = "the-master-key-of-the-server";
/** Limits that no test is expected to reach. */
const ROOMY: BuildLimits = { ...BUILD_LIMITS, cpu: 1, memory_mb: 1_024, timeout_ms: 60_000 };

interface Attack {
  readonly name: string;
  /** Code that the package's build runs. */
  readonly code: string;
  readonly limits: Partial<BuildLimits>;
  readonly message: RegExp;
}

const LOOPS: Attack = {
  name: "loops",
  code: "while True: pass",
  limits: { timeout_ms: 3_000 },
  message: /the build took longer than 3 seconds; the last package that was built is loops/,
};
/** Slow enough for a machine that looks at it late: disks in memory would be full within seconds. */
const FILL = "import time\nwhile True: out.write(b'x' * 1048576); time.sleep(0.005)";
const FILLS: Attack = {
  name: "fills",
  code: `out = open('filling', 'wb')\n${FILL}`,
  limits: { disk_bytes: 64 * MEGABYTE },
  message: /the build wrote more than 64 MB; the last package that was built is fills/,
};
const HIDES: Attack = {
  name: "hides",
  // an unlinked file, which no walk through folders finds
  code: `out = open('hidden', 'wb')\nos.unlink('hidden')\n${FILL}`,
  limits: { disk_bytes: 64 * MEGABYTE },
  message: /the build wrote more than 64 MB; the last package that was built is hides/,
};
const FORKS: Attack = {
  name: "forks",
  code: "while True: os.fork()",
  limits: { tasks: 80 },
  message: /the build needed more than 80 processes and threads; the last package that was built is forks/,
};
process.env.SERVER_SECRET_OF_TEST = SERVER_KEY;

testBuildAttack({ name: "process", isolates: false, create: async (input) => createProcessPods(input) });

const sandbox = await useSandbox();
if (sandbox !== undefined) {
  testBuildAttack({ name: "sandbox", isolates: true, create: (input) => createSandboxPods({ ...input, ...sandbox }) });
}

/** Registers the tests that must hold whatever a package's build does. */
function testBuildAttack(driver: AttackedBuilds): void {
  describe(`builds in tasks of the driver ${driver.name}`, () => {
    const attacks = [FILLS, HIDES, ...(driver.isolates ? [FORKS] : []), LOOPS];
    const named = attacks.map(({ name }) => name).join(", one that ");
    test(`${named} ends at its limit, leaves nothing and does not stop other builds`, async () => {
      await using attack = await openBuildAttack(driver);
      const fails = async ({ code, limits, message, name }: Attack) => {
        const failure = await attack.build(name, code, { ...ROOMY, ...limits }).catch((error: unknown) => error);
        expect(failure).toMatchObject({
          code: "build_failed",
          message: expect.stringMatching(message),
          hint: expect.stringMatching(/^(Choose a version|Install fewer)/),
        });
      };
      const others = async () => {
        expect((await attack.build("good", "pass", ROOMY)).packages).toEqual([{ name: "good", version: "1.0" }]);
        for (const attack of attacks) if (attack !== LOOPS) await fails(attack);
      };
      await Promise.all([fails(LOOPS), others()]);
      for (const { name } of attacks) {
        const left = driver.isolates ? attack.builds.left(name) : attack.builds.left("one").slice(1);
        expect([name, left]).toEqual([name, []]);
      }
      expect(processesWith(attack.builds.folder)).toEqual([]);
    });

    if (driver.isolates) {
      testReach(driver);
      testShared(driver);
    }
  });
}

function testReach(driver: AttackedBuilds): void {
  test("a build cannot access the server, other tenants, the machine or internal networks", async () => {
    await using attack = await openBuildAttack(driver);
    const { folder } = attack.builds;
    await attack.build("other", "pass", ROOMY);
    const home = join(folder, "home");
    mkdirSync(home);
    writeFileSync(join(home, "master.key"), SERVER_KEY);
    writeFileSync(join(folder, "images", "other", "secret.py"), SERVER_KEY);
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
    const unix = createServer((socket) => socket.end(SERVER_KEY));
    const socket = join(folder, "s");
    await new Promise<void>((resolve) => unix.listen(socket, resolve));
    try {
      const { port } = server.address() as { port: number };
      const targets = {
        paths: [
          join(home, "master.key"),
          join(folder, "images", "other", "secret.py"),
          socket,
          "/etc/shadow",
          join(homedir(), ".profile"),
          join(process.cwd(), "package.json"),
          `/proc/${process.pid}/environ`,
          "/proc/kcore",
          "/var/lib/dpkg/status",
          ...readdirSync(join(folder, "caches", "other")).map((name) => join(folder, "caches", "other", name)),
          "/dev/mem",
          "/dev/vda",
          "/dev/sda",
          "/dev/nvme0n1",
        ],
        hosts: [
          "169.254.169.254",
          "127.0.0.1",
          "::ffff:127.0.0.1",
          "192.0.2.2",
          "10.88.0.1",
          ...machineAddresses().ipv4,
        ].map((host) => [host, host === "169.254.169.254" ? 80 : port]),
        socket,
        folders: [
          folder,
          home,
          join(folder, "images", "other"),
          join(folder, "caches", "other"),
          "/usr/lib",
          "/etc",
          "/",
        ],
      };
      const image = await attack.build("reads", `TOLD = ${JSON.stringify(JSON.stringify(targets))}\n${REACH}`, ROOMY);
      const found = JSON.parse(
        readFileSync(join(image.folder, sitePackages(image.folder), "reads.py"), "utf8").slice(1),
      );
      const { environ, ...rest } = found;
      expect(rest).toEqual({ read: [], connected: [], sees_key: false, others: [] });
      expect(JSON.stringify(environ)).not.toContain(SERVER_KEY);
      expect(connections).toBe(0);
      // the sandbox replaces these folders by its own, which may be writable
      expect(targets.folders.filter((path) => existsSync(join(path, "written-by-a-build")))).toEqual([]);
      expect(readFileSync(join(home, "master.key"), "utf8")).toBe(SERVER_KEY);
    } finally {
      await Promise.all([server, unix].map((one) => new Promise((resolve) => one.close(resolve))));
    }
  });
}

function testShared(driver: AttackedBuilds): void {
  test("two organizations share one file of a public package that builds cannot write", async () => {
    await using attack = await openBuildAttack(driver);
    const { builds } = attack;
    builds.publish({ name: "tiny" });
    const files = await builds.locked(["tiny"]);
    // fetched outside tasks, which cannot reach this process's index
    await builds.build({ files, org: "first", options: builds.shared() });
    const options = { ...attack.options(ROOMY), ...builds.shared() };
    const one = await builds.build({ files, org: "one", options });
    const two = await builds.build({ files, org: "two", options });
    expect([builds.troubles, one.is_shared, two.is_shared]).toEqual([[], true, true]);
    const kept = [one, two].map(({ folder }) => {
      const found = join(folder, sitePackages(folder));
      const compiled = readdirSync(join(found, "__pycache__")).map((name) => join(found, "__pycache__", name));
      return [join(found, "tiny.py"), ...compiled].map((path) => ({ path, ...statSync(path) }));
    });
    const [[module, compiled] = [], same] = kept;
    expect(same?.map(({ ino }) => ino)).toEqual([module?.ino, compiled?.ino]);
    const evil = await attack.build("evil", OVERWRITE, ROOMY);
    expect(readFileSync(module?.path ?? "", "utf8")).toBe('version = "1.0"\n');
    const written = statSync(join(evil.folder, sitePackages(evil.folder), "evil.py"));
    if (process.getuid?.() === 0) expect(written.uid).not.toBe(module?.uid);
  });
}

/** Overwrites every such module that it finds. */
const OVERWRITE = `for folder, _, names in os.walk("/"):
    if "tiny.py" in names:
        try: open(folder + "/tiny.py", "w").write("evil = True")
        except OSError: pass
`;

/** Writes its findings into the package's module, after a `#`. */
const REACH = `import json, socket
told = json.loads(TOLD)
found = dict(read=[], connected=[], others=[], sees_key=False, environ=dict(os.environ))
for path in told["paths"]:
    try:
        found["read"].append([path, os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(64).decode("latin1")])
    except OSError: pass
for host, port in told["hosts"]:
    try:
        socket.create_connection((host, port), 1).close()
        found["connected"].append(host)
    except OSError: pass
try:
    socket.socket(socket.AF_UNIX).connect(told["socket"])
    found["connected"].append("socket")
except OSError: pass
for folder in told["folders"]:
    try: open(folder + "/written-by-a-build", "w").close()
    except OSError: pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        try: text = open(f"/proc/{pid}/{name}", "rb").read()
        except OSError: continue
        found["sees_key"] |= ${JSON.stringify(SERVER_KEY)}.encode() in text
        if name == "cmdline" and b"vitest" in text: found["others"].append(pid)
with open("reads.py", "w") as out: out.write("#" + json.dumps(found))
`;

interface BuildAttack extends AsyncDisposable {
  readonly builds: TestBuilds;
  /** Builds a package of that name from source, in a project of an organization of that name. */
  build(name: string, code: string, limits: BuildLimits): ReturnType<TestBuilds["build"]>;
  /** Options of builders that run tasks with this driver. */
  options(limits: BuildLimits): Partial<HostedImagesOptions>;
}

async function openBuildAttack(driver: AttackedBuilds): Promise<BuildAttack> {
  const builds = await openTestBuilds();
  const pods = await driver.create({
    folder: join(builds.folder, "pods"),
    layout: createTestLayout(builds.folder),
    program: { file: join(builds.folder, "pod.js"), node_options: [] },
    log: createSilentLog(),
    clock: { now: Date.now },
  });
  const optionsOf = (limits: BuildLimits): Partial<HostedImagesOptions> => {
    return { limits, runTask: (task, signal) => pods.run(task, signal) };
  };
  return {
    builds,
    options: optionsOf,
    async build(name, code, limits) {
      const source = sourceFiles(name, "1.0", code);
      // the driver `process` serves one organization
      const org = driver.isolates ? name : "one";
      const files = { "requirements.txt": `./${name}\n`, ...below(name, source) };
      return await builds.build({ files, org, options: optionsOf(limits) });
    },
    async [Symbol.asyncDispose]() {
      await pods[Symbol.asyncDispose]();
      await builds[Symbol.asyncDispose]();
    },
  };
}

function sitePackages(imageFolder: string): string {
  const lib = readdirSync(join(imageFolder, "venv", "lib"))[0] ?? "";
  return join("venv", "lib", lib, "site-packages");
}

/** Processes whose arguments contain a text. */
function processesWith(text: string): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return line.includes(text) ? [line] : [];
    } catch {
      // ended between listing and reading
      return [];
    }
  });
}
