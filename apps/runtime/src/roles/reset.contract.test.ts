import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import { emptyHome, findLocalData } from "@appdb/postgres/homes/empty-home";
import { stopLeftPostgres } from "@appdb/postgres/homes/stop-left";
import { isProcessAlive } from "@appdb/system/processes/process-identity";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findService, serveExample } from "../testing/example-service.ts";
import { openTestHome, processOf, type TestHome } from "../testing/test-home.ts";

const TIMEOUT = 180_000;
let tested: TestHome;

beforeEach(() => {
  tested = openTestHome();
});

afterEach(async () => {
  await tested[Symbol.asyncDispose]();
}, TIMEOUT);

const runtimeBase = process.env["XDG_RUNTIME_DIR"];
const reset = () => emptyHome({ home: tested.home, runtime_base: runtimeBase, log: createSilentLog() });

test.each([
  ["runs", "SIGCONT"],
  ["hangs", "SIGSTOP"],
] as const)("empties a home whose daemon %s and ends its processes", { timeout: TIMEOUT }, async (_how, signal) => {
  const client = await tested.startDaemon();
  await serveExample(client, await tested.readApp("main"));
  const service = processOf(await findService(client, "main/ingest"));
  const postgres = tested.findPostgres();
  const { pid } = await client.call("health", {});
  writeFileSync(join(tested.home, HOME_PATHS.config), '[service]\napi_url = "https://cloud.example.com"\n');
  mkdirSync(join(tested.home, "server"));
  process.kill(pid, signal);
  await reset();
  for (const one of [service, postgres]) expect(one === undefined || isProcessAlive(one)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect(readdirSync(tested.home).sort()).toEqual(["config.toml", "server"]);
  expect(findLocalData(tested.home)).toEqual([]);
  const next = await tested.startDaemon();
  expect((await next.call("databaseList", {})).databases).toEqual([]);
});

test("empties a home without a daemon", { timeout: TIMEOUT }, async () => {
  mkdirSync(join(tested.home, HOME_PATHS.postgres, "18"), { recursive: true });
  writeFileSync(join(tested.home, HOME_PATHS.daemon), "{");
  await reset();
  expect(existsSync(join(tested.home, HOME_PATHS.postgres))).toBe(false);
});

test("stops the PostgreSQL of a killed daemon, and none of another home", { timeout: TIMEOUT }, async () => {
  const client = await tested.startDaemon();
  const stopLeft = (home: string) => stopLeftPostgres({ home, runtime_base: runtimeBase, log: createSilentLog() });
  await client.call("databaseList", {});
  const postgres = tested.findPostgres();
  if (postgres === undefined) throw new Error("no PostgreSQL runs");
  const { pid } = await client.call("health", {});
  // The daemon has its PostgreSQL.
  expect(await stopLeft(tested.home)).toBeUndefined();
  process.kill(pid, "SIGKILL");
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
  const other = join(tested.home, "other");
  mkdirSync(join(other, HOME_PATHS.postgres, "18"), { recursive: true });
  writeFileSync(join(other, HOME_PATHS.postgres, "18", "postmaster.pid"), `${postgres.pid}\n`);
  expect(await stopLeft(other)).toBeUndefined();
  expect(await stopLeft(tested.home)).toBe(postgres.pid);
  expect(isProcessAlive(postgres)).toBe(false);
  expect(await stopLeft(tested.home)).toBeUndefined();
});
