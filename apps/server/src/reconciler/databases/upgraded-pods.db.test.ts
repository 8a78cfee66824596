import { mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { databasePaths } from "../../pods/database-paths.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openReconcilerStage, type ReconcilerStage } from "../../testing/reconciler-stage.ts";
import { startReconciler } from "../reconciler.ts";

let server: TestServer;
let stage: ReconcilerStage;
let log: ReturnType<typeof createSilentLog>;
beforeEach(async () => {
  server = await openServer();
  stage = await openReconcilerStage(server);
  log = createSilentLog();
  const before = await stage.start();
  await stage.settles("AVAILABLE");
  await before.stop("keep pods");
});
afterEach(() => server[Symbol.asyncDispose]());

/** Starts the reconciler of the next version. */
function startNext() {
  const { machine } = stage;
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
  stage.machine.pods.say(stage.pod, { version: "0.8.0" });
  await using _next = await startNext();
  await eventually(() => expect(stage.machine.pods.starts(stage.pod)).toBe(2), { timeout_ms: 10_000 });
  await stage.settles("AVAILABLE");
  expect(warnings()).toEqual([]);
  expect(log.lines).toContainEqual(
    expect.objectContaining({
      message: "the pod of a database is replaced",
      fields: expect.objectContaining({ db: stage.id, reason: "it had another version", pause_ms: 0 }),
    }),
  );
});

test("a database whose storage moves starts again without being lost", async () => {
  const { folder, data_folder: dataFolder } = databasePaths(stage.machine.paths, stage.id);
  // as version 0.8.0 left it
  const aside = join(server.home, "aside");
  renameSync(dataFolder, aside);
  rmSync(folder, { recursive: true });
  renameSync(aside, folder);
  mkdirSync(join(folder, "postgres"));
  await using _next = await startNext();
  await stage.settles("AVAILABLE");
  expect(stage.machine.pods.starts(stage.pod)).toBe(2);
  expect(warnings()).toEqual([]);
  const { rows } = await sql`select from control.events where action = 'database.lost'`.execute(server.deps.db);
  expect(rows).toEqual([]);
});
