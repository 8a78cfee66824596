import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { LocalDriver, LocalDriverInput } from "@appdb/pods/driver/local-driver";
import type { PodTask } from "@appdb/pods/driver/task-runner";
import { createSandboxPods } from "@appdb/pods/sandbox/sandbox-pods";
import { createTestLayout } from "@appdb/testkit/contracts/test-layout";
import { useSandbox } from "@appdb/testkit/sandbox";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BUILD_LIMITS } from "./build-steps.ts";
import { imageRuntime } from "./image-runtime.ts";
import { createSystemPackages } from "./system-packages.ts";
import { sourceFiles } from "./testing/package-index.ts";
import { ask, below, openTestBuilds, type TestBuilds } from "./testing/test-builds.ts";

let builds: TestBuilds;
let server: Server;

beforeEach(async () => {
  builds = await openTestBuilds();
  const repository = join(builds.folder, "debian");
  mkdirSync(repository);
  server = createServer((request, response) => {
    const name = (request.url ?? "").split("/").at(-1) ?? "";
    if (readdirSync(repository).includes(name)) response.end(readFileSync(join(repository, name)));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await builds[Symbol.asyncDispose]();
});

/** Adds a Debian package to the repository. */
function publish(name: string, control: string, files: Readonly<Record<string, [text: string, mode: number]>>): void {
  const source = join(builds.folder, `deb-${name}`);
  mkdirSync(join(source, "DEBIAN"), { recursive: true });
  const about = `Package: ${name}\nVersion: 1.0\nArchitecture: all\nMaintainer: a <a@example.com>\nDescription: a test\n${control}`;
  writeFileSync(join(source, "DEBIAN", "control"), about);
  writeFileSync(join(source, "DEBIAN", "postinst"), `#!/bin/sh\ntouch ${builds.folder}/script-ran\n`, { mode: 0o755 });
  for (const [path, [text, mode]] of Object.entries(files)) {
    mkdirSync(join(source, path, ".."), { recursive: true });
    writeFileSync(join(source, path), text, { mode });
    execFileSync("chmod", [mode.toString(8), join(source, path)]);
  }
  const repository = join(builds.folder, "debian");
  const file = join(repository, `${name}_1.0_all.deb`);
  execFileSync("dpkg-deb", ["--root-owner-group", "-b", source, file], { stdio: "ignore" });
  const bytes = readFileSync(file);
  const listed = `${about}Filename: ./${name}_1.0_all.deb\nSize: ${bytes.length}\nSHA256: ${createHash("sha256").update(bytes).digest("hex")}\n\n`;
  writeFileSync(join(repository, "Packages"), listed, { flag: "a" });
}

function options(diskBytes = 1024 ** 3) {
  const sourcesFile = join(builds.folder, "sources.list");
  const { port } = server.address() as AddressInfo;
  writeFileSync(sourcesFile, `deb [trusted=yes] http://127.0.0.1:${port} ./\n`);
  const unpackSystem = createSystemPackages({
    state_folder: join(builds.folder, "apt"),
    status_file: "/var/lib/dpkg/status",
    sources_file: sourcesFile,
    disk_bytes: diskBytes,
    network_env: {},
  });
  return { unpackSystem };
}

test("unpacks system packages with missing dependencies and runs no script", async () => {
  publish("tinyprogram", "Depends: tinylibrary, libc6\n", {
    "usr/bin/tinyprogram": ["#!/bin/sh\necho the program runs\n", 0o4755],
    "usr/share/doc/tinyprogram/text": ["words", 0o644],
  });
  publish("tinylibrary", "Installed-Size: 12\n", { "usr/lib/tiny/libtiny.so.1": ["", 0o644] });
  const image = await builds.build({ files: {}, system_packages: ["tinyprogram"], options: options() });
  expect(image.system).toEqual({
    packages: [
      { name: "tinylibrary", version: "1.0" },
      { name: "tinyprogram", version: "1.0" },
    ],
    library_paths: ["usr/lib/tiny"],
    program_paths: ["usr/bin"],
  });
  const { env } = imageRuntime(image.folder);
  expect(execFileSync("tinyprogram", { encoding: "utf8", env: { ...env } })).toBe("the program runs\n");
  expect(env.LD_LIBRARY_PATH).toBe(join(image.folder, "system", "usr/lib/tiny"));
  expect(statSync(join(image.folder, "system/usr/bin/tinyprogram")).mode & 0o7777).toBe(0o755);
  expect(readdirSync(builds.folder)).not.toContain("script-ran");
  expect(readdirSync(image.folder).sort()).toEqual(["image.json", "system", "venv"]);
  expect(ask(image, "print(1)")).toBe("1");
});

test("a source build finds headers of system packages", async () => {
  publish("tinyheaders", "", { "usr/include/tiny.h": ["int tiny;", 0o644], "usr/lib/libtiny.so": ["", 0o644] });
  const code =
    "assert os.path.exists(os.environ['CPATH'].split(':')[0] + '/tiny.h')\n" +
    "assert os.path.exists(os.environ['LIBRARY_PATH'] + '/libtiny.so')";
  builds.publish({ name: "needy", kind: "source", files: sourceFiles("needy", "1.0", code) });
  const files = builds.requirements("needy");
  const image = await builds.build({ files, system_packages: ["tinyheaders"], options: options() });
  expect(image.packages).toEqual([{ name: "needy", version: "1.0" }]);
});

const sandbox = await useSandbox();
if (sandbox !== undefined) testIsolated("sandbox", (input) => createSandboxPods({ ...input, ...sandbox }));

function testIsolated(name: string, create: (input: LocalDriverInput) => Promise<LocalDriver>): void {
  test(`builds and images with the driver ${name} find their system packages`, async () => {
    const program = "#!/bin/sh\necho the program runs beside $(ls $LD_LIBRARY_PATH)\n";
    publish("tiny", "", {
      "usr/bin/tinyprogram": [program, 0o755],
      "usr/include/tiny.h": ["int tiny;", 0o644],
      "usr/lib/tiny/libtiny.so": ["", 0o644],
    });
    const code =
      "assert os.path.exists(os.environ['CPATH'].split(':')[0] + '/tiny.h')\n" +
      "import subprocess\nassert b'the program runs' in subprocess.check_output(['tinyprogram'])";
    await using pods = await create({
      folder: join(builds.folder, "pods"),
      layout: createTestLayout(builds.folder),
      program: { file: join(builds.folder, "pod.js"), node_options: [] },
      log: createSilentLog(),
      clock: { now: Date.now },
    });
    const runTask = (task: PodTask, signal: AbortSignal) => pods.run(task, signal);
    const files = { "requirements.txt": "./needy\n", ...below("needy", sourceFiles("needy", "1.0", code)) };
    const image = await builds.build({ files, system_packages: ["tiny"], options: { ...options(), runTask } });
    expect(image.packages).toEqual([{ name: "needy", version: "1.0" }]);
    const { env, folders } = imageRuntime(image.folder);
    const lines: string[] = [];
    const exit = await pods.run(
      {
        id: "runs",
        labels: { organization_id: "one", database_id: "db", kind: "database" },
        program: "/bin/sh",
        args: ["-c", "tinyprogram"],
        env,
        cwd: image.folder,
        network: "none",
        allowed_hosts: [],
        folders: folders.map((path) => ({ path, mode: "read" })),
        limits: BUILD_LIMITS,
        onLine: (line) => lines.push(line),
      },
      AbortSignal.timeout(30_000),
    );
    expect([exit.code, lines]).toEqual([0, ["the program runs beside libtiny.so"]]);
  });
}

test("names a system package that is missing, unfit or too large", async () => {
  publish("needy", "Depends: no-such-library\n", {});
  publish("large", "Installed-Size: 4096\n", {});
  for (const [name, message] of [
    ["no-such-package", /no-such-package could not be fetched: .*no-such-package/],
    ["large=2.0", /large=2\.0 could not be fetched: .*'2\.0'.*'large'/],
    ["needy", /needy could not be fetched: /],
    ["large", /take 4 MB, the largest of them large; an image may have 1 MB/],
  ] as const) {
    const built = builds.build({ files: {}, system_packages: [name], options: options(1024 ** 2) });
    await expect(built).rejects.toMatchObject({ code: "build_failed", message: expect.stringMatching(message) });
  }
  expect(builds.left()).toEqual([]);
});

test("refuses system packages where pods could not see them", async () => {
  await expect(builds.build({ files: {}, system_packages: ["ffmpeg"] })).rejects.toMatchObject({
    code: "system_packages_refused",
    message: expect.stringContaining("ffmpeg"),
  });
});
