import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readServerConfig } from "./config/config.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const read = (name: string) => readFileSync(join(ROOT, name), "utf8");
const FILES = ["deploy/appdb.service", "deploy/Dockerfile", "deploy/compose.yaml"];
/** The path of the checkout, in a container and in the documentation. */
const PLACE = "/opt/appdb/";

test.each(FILES)("%s starts a built program and names existing paths", (name) => {
  const bundles = read("scripts/lib/bundle.mjs");
  const paths = [...read(name).matchAll(/\/opt\/appdb\/(?<path>[\w.][\w./-]*)/g)].map(
    ({ groups }) => groups?.path ?? "",
  );
  if (name !== "deploy/compose.yaml") expect(paths).toContain("dist/server.js");
  for (const path of paths) {
    const program = /^dist\/(\w+)\.js$/.exec(path)?.[1];
    const isMade = [".tools", "dist", "apps/dashboard/dist"].includes(path);
    if (program !== undefined) expect(bundles).toMatch(new RegExp(`^const DOORS = .*"${program}"`, "m"));
    else if (!isMade) expect(existsSync(join(ROOT, path)), `${PLACE}${path} of ${name}`).toBe(true);
  }
});

test.each(FILES)("%s uses known settings with valid values", (name) => {
  const settings = Object.fromEntries(
    [...read(name).matchAll(/^\s*(?:ENV |Environment=)?(SERVICE_\w+)(?:=|: )"?([^\s"]+)"?$/gm)].map(
      ([, setting = "", value = ""]) => [setting, value],
    ),
  );
  expect(settings.SERVICE_PORT).toBe("8080");
  const known = read("docs/settings.md");
  for (const setting of Object.keys(settings)) expect(known).toContain(`| \`${setting}\` |`);
  expect(readServerConfig({ ...settings }).port).toBe(8080);
});

test("the container and compose file copy and mount what the product has", () => {
  const dockerfile = read("deploy/Dockerfile");
  const [scripts, compose] = [JSON.parse(read("package.json")).scripts, read("deploy/compose.yaml")];
  for (const [, script = ""] of dockerfile.matchAll(/npm run (\w+)/g)) expect(scripts[script], script).toBeDefined();
  expect(compose).toContain("dockerfile: deploy/Dockerfile");
  expect(compose).toContain(`home:${/^VOLUME (\S+)$/m.exec(dockerfile)?.[1]}`);
});

test("the container copies and runs the keeper", () => {
  const dockerfile = read("deploy/Dockerfile");
  expect(dockerfile).toContain(" /opt/appdb/deploy/keep-server.sh deploy/keep-server.sh\n");
  const command = '["/bin/sh", "/opt/appdb/deploy/keep-server.sh", "10", "node", "/opt/appdb/dist/server.js"]';
  expect(dockerfile).toContain(`CMD ${command}`);
});

test("the unit runs the keeper, and systemd ends what remains after it", () => {
  const unit = read("deploy/appdb.service");
  expect(unit).toMatch(
    /^ExecStart=\/bin\/sh \/opt\/appdb\/deploy\/keep-server\.sh \d+ \/usr\/bin\/env node \/opt\/appdb\/dist\/server\.js$/m,
  );
  const sockets = ["RuntimeDirectory=appdb", "RuntimeDirectoryMode=0700", "Environment=XDG_RUNTIME_DIR=/run/appdb"];
  const lines = ["KillMode=mixed", "OOMPolicy=continue", "Delegate=yes", "LimitCORE=0", ...sockets];
  for (const line of lines) expect(unit.split("\n")).toContain(line);
});

/** Ends automatically if a failed test leaves it behind. */
const RUN = "for n in $(seq 1000); do sleep 0.01; done";

function makeFolder() {
  const path = mkdtempSync(join(tmpdir(), "keep-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs a keeper with a stand-in that prints its process id. Resolves with the keeper's exit status. */
function keep(seconds: number, script: string, sockets?: string) {
  const child = spawn("/bin/sh", [join(ROOT, "deploy/keep-server.sh"), String(seconds), "/bin/sh", "-c", script], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, KEEPER_SILENT_SECONDS: "4", ...(sockets === undefined ? {} : { XDG_RUNTIME_DIR: sockets }) },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, ended: once(child, "exit"), nextPid: async () => Number((await lines.next()).value) };
}

test("the keeper restarts a killed server and passes on stop and status", async () => {
  const { child, ended, nextPid } = keep(0, `trap "exit 7" TERM; echo $$; ${RUN}`);
  const first = await nextPid();
  process.kill(first, "SIGKILL");
  const second = await nextPid();
  expect(second).not.toBe(first);
  child.kill("SIGTERM");
  expect(await ended).toEqual([7, null]);
  expect(() => process.kill(second, 0)).toThrow("ESRCH");
});

test("a keeper removes the folder of a killed keeper, not of a running one", async () => {
  using sockets = makeFolder();
  const script = `trap "exit 0" TERM; echo $$; ${RUN}`;
  const killed = keep(0, script, sockets.path);
  const server = await killed.nextPid();
  killed.child.kill("SIGKILL");
  await killed.ended;
  process.kill(server, "SIGTERM");
  const first = keep(0, script, sockets.path);
  await first.nextPid();
  const second = keep(0, script, sockets.path);
  await second.nextPid();
  const owners = readdirSync(sockets.path).map((name) => Number(name.split(".")[1]));
  expect(owners.toSorted()).toEqual([first.child.pid, second.child.pid].toSorted());
  for (const { child, ended } of [first, second]) {
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  }
  expect(readdirSync(sockets.path)).toEqual([]);
});

test.each(["SIGTERM", "SIGHUP", "SIGINT"] as const)(
  "a %s right after a crash ends what the crashed server left",
  async (signal) => {
    // the first two ignore signals, like a server that has just started
    using folder = makeFolder();
    const { child, ended, nextPid } = keep(
      0,
      `cd ${folder.path}; echo >>runs; echo $$; [ $(wc -l <runs) != 3 ] || trap "echo 3; exit 0" TERM; ${RUN}`,
    );
    process.kill(await nextPid(), "SIGKILL");
    const second = await nextPid();
    child.kill(signal);
    // a terminal signals all its processes
    if (signal !== "SIGTERM") signalIfRunning(second, signal);
    expect([await nextPid(), await nextPid()]).toEqual([expect.any(Number), 3]);
    expect(await ended).toEqual([0, null]);
  },
);

/** Signals a process, which the keeper may have ended first. */
function signalIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    expect(error).toMatchObject({ code: "ESRCH" });
  }
}

/** Prints its process id, beats every 50 ms, and stops with status 0. A test may stop it at any moment, so the file always
 *  has a number: an empty file counts as one of a server that cannot write. */
const BEAT = `beat() { echo $1 >$KEEPER_HEARTBEAT_FILE.new; mv $KEEPER_HEARTBEAT_FILE.new $KEEPER_HEARTBEAT_FILE; }
trap "exit 0" TERM; beat 0; echo $$; n=0; while [ $n -lt 400 ]; do n=$((n + 1)); beat $n; sleep 0.05; done`;

test("a hanging server is killed and restarted; one without heartbeats is not", async () => {
  const { child, ended, nextPid } = keep(0, BEAT);
  const silent = keep(0, `echo $$; trap "exit 7" TERM; ${RUN}`);
  const leftAlone = await silent.nextPid();
  const first = await nextPid();
  process.kill(first, "SIGSTOP");
  const second = await nextPid();
  expect(second).not.toBe(first);
  expect(() => process.kill(first, 0)).toThrow("ESRCH");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(process.kill(leftAlone, 0)).toBe(true);
  silent.child.kill("SIGTERM");
  expect(await silent.ended).toEqual([7, null]);
});

test("a server that hangs while stopping is replaced by one that ends its remains", async () => {
  const { child, ended, nextPid } = keep(60, BEAT);
  process.kill(await nextPid(), "SIGSTOP");
  child.kill("SIGTERM");
  expect(await nextPid()).toBeGreaterThan(0);
  expect(await ended).toEqual([0, null]);
});

test("a heartbeat does not follow a link put in place of its folder", async () => {
  using folder = makeFolder();
  const file = join(folder.path, "beat");
  writeFileSync(file, "of another program");
  const replace = `beats=$(dirname "$KEEPER_HEARTBEAT_FILE"); rm -r "$beats"; ln -s ${folder.path} "$beats"; exit 1`;
  const runs = `${folder.path}/runs`;
  const again = `rm "$(cat ${runs})"; echo 1 >"$KEEPER_HEARTBEAT_FILE" && exit 0`;
  const first = `dirname "$KEEPER_HEARTBEAT_FILE" >${runs}; ${replace}`;
  expect(await keep(0, `if [ -e ${runs} ]; then ${again}; else ${first}; fi`).ended).toEqual([0, null]);
  expect(readFileSync(file, "utf8")).toBe("of another program");
});

test("a server that cannot start ends its keeper with its status; a clean stop with 0", async () => {
  expect(await keep(60, "exit 3").ended).toEqual([3, null]);
  expect(await keep(0, "exit 0").ended).toEqual([0, null]);
});
