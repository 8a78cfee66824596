import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HOME_PATHS } from "@appdb/contract/home";
import { emptyHome, findLocalData } from "@appdb/postgres/homes/empty-home";
import { isProcessAlive } from "@appdb/system/processes/process-identity";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type DaemonHarness, openHarness, processOf } from "../testing/daemon-harness.ts";
import { findService, serveExample } from "../testing/example-service.ts";

const TIMEOUT = 90_000;
let harness: DaemonHarness;

beforeEach(() => {
  harness = openHarness();
});

afterEach(async () => {
  await harness[Symbol.asyncDispose]();
}, TIMEOUT);

const runtimeBase = process.env["XDG_RUNTIME_DIR"];
const reset = () => emptyHome({ home: harness.home, runtime_base: runtimeBase, log: createSilentLog() });

test.each([
  ["runs", "SIGCONT"],
  ["hangs", "SIGSTOP"],
] as const)("empties a home whose daemon %s and ends its processes", { timeout: TIMEOUT }, async (_how, signal) => {
  const client = await harness.startDaemon();
  await serveExample(client, await harness.readApp("main"));
  const service = processOf(await findService(client, "main/ingest"));
  const postgres = harness.findPostgres();
  const { pid } = await client.call("health", {});
  writeFileSync(join(harness.home, HOME_PATHS.config), '[service]\napi_url = "https://cloud.example.com"\n');
  mkdirSync(join(harness.home, "server"));
  process.kill(pid, signal);
  await reset();
  for (const one of [service, postgres]) expect(one === undefined || isProcessAlive(one)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect(readdirSync(harness.home).sort()).toEqual(["config.toml", "server"]);
  expect(findLocalData(harness.home)).toEqual([]);
  const next = await harness.startDaemon();
  expect((await next.call("databaseList", {})).databases).toEqual([]);
});

test("empties a home without a daemon", { timeout: TIMEOUT }, async () => {
  mkdirSync(join(harness.home, HOME_PATHS.postgres, "18"), { recursive: true });
  writeFileSync(join(harness.home, HOME_PATHS.daemon), "{");
  await reset();
  expect(existsSync(join(harness.home, HOME_PATHS.postgres))).toBe(false);
});
