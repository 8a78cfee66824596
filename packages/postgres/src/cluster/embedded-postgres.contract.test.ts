import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identifyProcess, isProcessAlive } from "@appdb/system/processes/process-identity";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withClient } from "./database-admin.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { socketAddress } from "./local-address.ts";
import { nameRuntimeFolder } from "./runtime-folder.ts";
import { startPostgres } from "./server-process.ts";

const TIMEOUT = 180_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const bin = requirePostgresBin(locateTools({ program_url: import.meta.url, postgres_bin: process.env.SERVICE_PG_BIN }));

let home: string;
let runtimeFolder: string;
const started: EmbeddedPostgres[] = [];

beforeEach(() => {
  home = join(mkdtempSync(join(tmpdir(), "appdb-pg-")), "Müllers Häuschen");
  mkdirSync(home);
  runtimeFolder = nameRuntimeFolder(home, undefined);
});

afterEach(async () => {
  for (const postgres of started.splice(0)) await postgres.stop();
  rmSync(join(home, ".."), { recursive: true, force: true });
  rmSync(runtimeFolder, { recursive: true, force: true });
});

function makePostgres(): EmbeddedPostgres {
  const postgres = new EmbeddedPostgres({
    bin,
    folder: join(home, "postgres"),
    runtime_folder: runtimeFolder,
    log_file: join(home, "logs", "postgres.log"),
    log: silent,
  });
  started.push(postgres);
  return postgres;
}

function serverPid(): number {
  const version = readdirSync(join(home, "postgres"))[0] ?? "";
  return Number(readFileSync(join(home, "postgres", version, "postmaster.pid"), "utf8").split("\n")[0]);
}

async function countRows(postgres: EmbeddedPostgres): Promise<number> {
  return await withClient(postgres.dsn("main"), async (client) => {
    const found = await client.query<{ n: number }>("select count(*)::int as n from t");
    return found.rows[0]?.n ?? -1;
  });
}

async function makeRows(postgres: EmbeddedPostgres): Promise<void> {
  await postgres.ensureDatabase("main");
  await withClient(postgres.dsn("main"), async (client) => {
    await client.query("create table t as select generate_series(1, 100) as n");
  });
}

test("a new home gets a server with Python's text order and no TCP port", {
  timeout: TIMEOUT,
}, async () => {
  const postgres = makePostgres();
  await Promise.all([postgres.start(), postgres.ensureDatabase("main"), postgres.ensureDatabase("main")]);
  expect(postgres.state()).toBe("up");
  expect(await postgres.listDatabases()).toEqual(["main"]);
  expect(await postgres.hasDatabase("other")).toBe(false);
  const facts = await withClient(postgres.dsn("main"), async (client) => {
    const found = await client.query(
      "select upper('straße') as upper, 'Z' < 'a' as code_points, current_setting('listen_addresses') as tcp, current_setting('synchronous_commit') as sync, current_setting('fsync') as fsync",
    );
    return found.rows[0];
  });
  expect(facts).toEqual({ upper: "STRASSE", code_points: true, tcp: "", sync: "on", fsync: "on" });
  await postgres.stop();
  expect(existsSync(runtimeFolder)).toBe(false);
});

test("restarts a killed server with all rows", { timeout: TIMEOUT }, async () => {
  const postgres = makePostgres();
  await makeRows(postgres);
  for (let round = 0; round < 3; round++) {
    const pid = serverPid();
    process.kill(pid, "SIGKILL");
    await expect.poll(() => identifyProcess(pid)).toBeUndefined();
    await expect.poll(() => postgres.state() === "up" && serverPid() !== pid).toBe(true);
    expect(await countRows(postgres)).toBe(100);
  }
});

test("stops a server left by a killed owner before the next start", { timeout: TIMEOUT }, async () => {
  const first = makePostgres();
  await makeRows(first);
  await first.stop();
  // a server without its owner, as after kill -9 of the daemon
  const dataFolder = join(home, "postgres", readdirSync(join(home, "postgres"))[0] ?? "");
  mkdirSync(runtimeFolder, { mode: 0o700 });
  const address = socketAddress(runtimeFolder);
  const logFile = join(home, "logs", "postgres.log");
  await startPostgres({ bin, data_folder: dataFolder, address, log_file: logFile, way: "child" }, () => {});
  const orphan = identifyProcess(serverPid());
  const second = makePostgres();
  await second.start();
  expect(orphan).toBeDefined();
  expect(orphan !== undefined && isProcessAlive(orphan)).toBe(false);
  expect(await countRows(second)).toBe(100);
});

test("ignores locks of dead processes, zombies and reused pids", {
  timeout: TIMEOUT,
}, async () => {
  const postgres = makePostgres();
  await makeRows(postgres);
  const version = readdirSync(join(home, "postgres"))[0] ?? "";
  const lock = join(home, "postgres", version, "postmaster.pid");
  const stranger = spawn("sleep", ["60"], { stdio: "ignore" });
  // a zombie: its parent is alive and does not reap it
  const parent = spawn("bash", ["-c", "sleep 60 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const zombie = Number(String((await once(parent.stdout, "data"))[0]));
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n");
    process.kill(zombie, "SIGKILL");
    await expect.poll(() => readFileSync(`/proc/${zombie}/stat`, "utf8")).toContain(") Z ");
    for (const pid of [2 ** 22 - 1, zombie, stranger.pid]) {
      await postgres.stop();
      writeFileSync(
        lock,
        `${pid}\n${join(home, "postgres", version)}\n1700000000\n5432\n${runtimeFolder}\n\n 1 2\nready\n`,
      );
      mkdirSync(runtimeFolder, { mode: 0o700 });
      writeFileSync(join(runtimeFolder, ".s.PGSQL.5432.lock"), `${pid}\n`);
      await postgres.start();
      expect(await countRows(postgres)).toBe(100);
    }
    expect(stranger.exitCode).toBeNull();
  } finally {
    parent.kill("SIGKILL");
    stranger.kill("SIGKILL");
  }
});

test("stopping during cluster creation leaves no process and no incomplete cluster", async () => {
  const postgres = makePostgres();
  const starting = postgres.start().catch((error: unknown) => error);
  // the unfinished cluster and, for a while, its password file
  const made = () => (existsSync(join(home, "postgres")) ? readdirSync(join(home, "postgres")).length : 0);
  await expect.poll(made).toBeGreaterThan(0);
  await postgres.stop();
  expect(await starting).toMatchObject({ code: "postgres_failed" });
  expect(readdirSync(join(home, "postgres"))).toEqual(["18"]);
  expect(existsSync(runtimeFolder)).toBe(false);
  await postgres.start();
  expect(postgres.state()).toBe("up");
});

test("refuses a folder that is not a PostgreSQL by name", async () => {
  const empty = new EmbeddedPostgres({
    bin: home,
    folder: join(home, "postgres"),
    runtime_folder: runtimeFolder,
    log_file: join(home, "postgres.log"),
    log: silent,
  });
  await expect(empty.start()).rejects.toMatchObject({ code: "postgres_failed" });
  expect(empty.state()).toBe("down");
});

test("a cluster that cannot start reports PostgreSQL's message and leaves no process", {
  timeout: TIMEOUT,
}, async () => {
  const postgres = makePostgres();
  await postgres.start();
  await postgres.stop();
  const version = readdirSync(join(home, "postgres"))[0] ?? "";
  writeFileSync(join(home, "postgres", version, "postgresql.conf"), "no_such_setting = 1\n");
  await expect(postgres.start()).rejects.toMatchObject({
    code: "postgres_failed",
    message: expect.stringContaining("no_such_setting"),
  });
  expect(existsSync(join(runtimeFolder, ".s.PGSQL.5432"))).toBe(false);
});

test("names why a lost server cannot be started again, until it is up", { timeout: TIMEOUT }, async () => {
  const postgres = makePostgres();
  await postgres.start();
  expect(postgres.failure()).toBeUndefined();
  const version = readdirSync(join(home, "postgres"))[0] ?? "";
  const path = join(home, "postgres", version, "postgresql.conf");
  const settings = readFileSync(path);
  writeFileSync(path, "no_such_setting = 1\n");
  process.kill(serverPid(), "SIGKILL");
  await expect.poll(() => postgres.failure()?.message).toContain("no_such_setting");
  expect(postgres.state()).toBe("starting");
  writeFileSync(path, settings);
  await expect.poll(() => postgres.state()).toBe("up");
  expect(postgres.failure()).toBeUndefined();
});
