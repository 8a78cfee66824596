import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identifyProcess, isProcessAlive } from "@appdb/system/processes/process-identity";
import { locateTools, requirePostgresBin } from "@appdb/system/tools/locate-tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withClient } from "./database-admin.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { loopbackAddress } from "./local-address.ts";
import { startPostgres } from "./server-process.ts";

// Simulates Windows on this machine: a loopback port, and pg_ctl to start and signal the server.
const TIMEOUT = 180_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const bin = requirePostgresBin(locateTools({ program_url: import.meta.url, postgres_bin: process.env.SERVICE_PG_BIN }));

let home: string;
let folder: string;
const started: EmbeddedPostgres[] = [];

beforeEach(() => {
  home = join(mkdtempSync(join(tmpdir(), "appdb-pg-")), "Müllers Häuschen");
  folder = join(home, "postgres");
  mkdirSync(home);
});

afterEach(async () => {
  for (const postgres of started.splice(0)) await postgres.stop();
  rmSync(join(home, ".."), { recursive: true, force: true });
});

function makePostgres(): EmbeddedPostgres {
  const address = loopbackAddress(join(folder, "port"));
  const places = { bin, folder, runtime_folder: join(home, "unused"), log_file: join(home, "logs", "postgres.log") };
  const postgres = new EmbeddedPostgres({ ...places, log: silent, address, way: "pg_ctl" });
  started.push(postgres);
  return postgres;
}

function serverLock(): string[] {
  return readFileSync(join(folder, "18", "postmaster.pid"), "utf8").split("\n");
}

async function ask(postgres: EmbeddedPostgres, statement: string): Promise<unknown> {
  return await withClient(postgres.dsn("main"), async (client) => (await client.query(statement)).rows[0]?.answer);
}

test("listens on loopback only and requires a password", { timeout: TIMEOUT }, async () => {
  const postgres = makePostgres();
  await postgres.ensureDatabase("main");
  expect(await ask(postgres, "select host(inet_server_addr()) as answer")).toBe("127.0.0.1");
  expect(await ask(postgres, "select current_setting('listen_addresses') as answer")).toBe("127.0.0.1");
  // the fifth line names the folder of sockets
  expect(serverLock()[4]).toBe("");
  const stranger = postgres.dsn("main").replace(/password=[^&]+/, "password=wrong");
  await expect(withClient(stranger, async () => undefined)).rejects.toMatchObject({ code: "database_unavailable" });
});

test("stops cleanly and keeps its port and rows", { timeout: TIMEOUT }, async () => {
  const first = makePostgres();
  await first.ensureDatabase("main");
  await ask(first, "create table t as select 7 as n");
  const [pid, , , port] = serverLock();
  await first.stop();
  expect(identifyProcess(Number(pid))).toBeUndefined();
  expect(readFileSync(join(home, "logs", "postgres.log"), "utf8")).toContain("database system is shut down");
  const second = makePostgres();
  await second.start();
  expect(serverLock()[3]).toBe(port);
  expect(await ask(second, "select n as answer from t")).toBe(7);
});

test("chooses another port when its own is in use", { timeout: TIMEOUT }, async () => {
  const first = makePostgres();
  await first.ensureDatabase("main");
  const port = Number(serverLock()[3]);
  await first.stop();
  const taker = createServer().listen(port, "127.0.0.1");
  await once(taker, "listening");
  try {
    const second = makePostgres();
    await second.start();
    expect(Number(serverLock()[3])).not.toBe(port);
    expect(await ask(second, "select 1 as answer")).toBe(1);
  } finally {
    taker.close();
  }
});

test("restarts a killed server on the same port", { timeout: TIMEOUT }, async () => {
  const postgres = makePostgres();
  await postgres.ensureDatabase("main");
  await ask(postgres, "create table t as select 7 as n");
  const [pid, , , port] = serverLock();
  process.kill(Number(pid), "SIGKILL");
  await expect.poll(() => postgres.state() === "up" && serverLock()[0] !== pid, { timeout: 30_000 }).toBe(true);
  expect(serverLock()[3]).toBe(port);
  expect(await ask(postgres, "select n as answer from t")).toBe(7);
});

test("stops a server of a killed owner with pg_ctl", { timeout: TIMEOUT }, async () => {
  const first = makePostgres();
  await first.ensureDatabase("main");
  await first.stop();
  const address = loopbackAddress(join(folder, "port"));
  await address.claim();
  const logFile = join(home, "logs", "postgres.log");
  await startPostgres({ bin, data_folder: join(folder, "18"), address, log_file: logFile, way: "pg_ctl" }, () => {});
  const orphan = identifyProcess(Number(serverLock()[0]));
  const second = makePostgres();
  await second.start();
  expect(orphan).toBeDefined();
  expect(orphan !== undefined && isProcessAlive(orphan)).toBe(false);
  expect(await ask(second, "select 1 as answer")).toBe(1);
});

test("reports PostgreSQL's message when a server cannot start", { timeout: TIMEOUT }, async () => {
  const first = makePostgres();
  await first.ensureDatabase("main");
  await first.stop();
  rmSync(join(folder, "18", "global", "pg_control"));
  await expect(makePostgres().start()).rejects.toMatchObject({
    code: "postgres_failed",
    message: expect.stringContaining("pg_control"),
  });
});

test("stopping during the start ends the server", { timeout: TIMEOUT }, async () => {
  const first = makePostgres();
  await first.ensureDatabase("main");
  await first.stop();
  // on a busy machine, a start may end before the stop
  let ended = "started";
  let pid = 0;
  for (let time = 0; time < 10 && ended === "started"; time += 1) {
    const second = makePostgres();
    const starting = second.start().then(
      () => "started",
      ({ code }: { readonly code: string }) => code,
    );
    await expect.poll(() => readLockPid() !== undefined, { interval: 2 }).toBe(true);
    pid = readLockPid() ?? 0;
    await second.stop();
    ended = await starting;
  }
  expect(ended).toBe("postgres_failed");
  await expect.poll(() => identifyProcess(pid)).toBeUndefined();
});

function readLockPid(): number | undefined {
  try {
    return Number(serverLock()[0]);
  } catch {
    return undefined;
  }
}
