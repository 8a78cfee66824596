import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { databasePaths } from "../../pods/database-paths.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openTestReconciler, type TestReconciler } from "../../testing/test-reconciler.ts";
import { startReconciler } from "../reconciler.ts";

let server: TestServer;
let setup: TestReconciler;
let log: ReturnType<typeof createSilentLog>;
beforeEach(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
  log = createSilentLog();
  const before = await setup.start();
  await setup.settles("AVAILABLE");
  await before.stop("keep pods");
});
afterEach(() => server[Symbol.asyncDispose]());

/** Starts the reconciler of the next version. */
function startNext() {
  const { machine } = setup;
  return startReconciler({
    ...server.deps,
    log,
    machine,
    pool_options: server.deps.pool.options,
    allow_private: false,
  });
}
const warnings = () => log.lines.filter(({ level }) => level !== "info" && level !== "debug");

test("a kept pod of the previous version is replaced without a warning", async () => {
  setup.machine.pods.say(setup.pod, { version: "0.8.0" });
  await using _next = await startNext();
  await eventually(() => expect(setup.machine.pods.starts(setup.pod)).toBe(2));
  await setup.settles("AVAILABLE");
  expect(warnings()).toEqual([]);
  expect(log.lines).toContainEqual(
    expect.objectContaining({
      message: "the pod of a database is replaced",
      fields: expect.objectContaining({ db: setup.id, reason: "it had another version", pause_ms: 0 }),
    }),
  );
});

test("a database whose storage moves starts again without being lost", async () => {
  const { folder, data_folder: dataFolder } = databasePaths(setup.machine.paths, setup.id);
  // as version 0.8.0 left it
  const aside = join(server.home, "aside");
  renameSync(dataFolder, aside);
  rmSync(folder, { recursive: true });
  renameSync(aside, folder);
  mkdirSync(join(folder, "postgres"));
  await using _next = await startNext();
  await setup.settles("AVAILABLE");
  expect(setup.machine.pods.starts(setup.pod)).toBe(2);
  expect(warnings()).toEqual([]);
  const { rows } = await sql`select from control.events where action = 'database.lost'`.execute(server.deps.db);
  expect(rows).toEqual([]);
});
