import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { enqueueJob } from "../../queue/jobs.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openReconcilerStage, type ReconcilerStage } from "../../testing/reconciler-stage.ts";
import { createTestMachine } from "../../testing/test-machine.ts";
import { startReconciler } from "../reconciler.ts";

let server: TestServer;
let stage: ReconcilerStage;
beforeEach(async () => {
  server = await openServer();
  stage = await openReconcilerStage(server);
});
afterEach(() => server[Symbol.asyncDispose]());

test("two reconcilers of one home start a database once", async () => {
  await using other = await openServer({ beside: server });
  await using _one = await stage.start();
  await using _two = await startReconciler({
    ...other.deps,
    machine: stage.machine,
    pool_options: other.deps.pool.options,
    allow_private: false,
  });
  await stage.settles("AVAILABLE");
  await stage.ask("restart");
  await stage.settles("AVAILABLE");
  expect(stage.machine.pods.starts(stage.pod)).toBe(2);
});

test("two reconcilers of two homes conflict: the second leaves databases alone and reports it", async () => {
  {
    await using _one = await stage.start();
    await stage.settles("AVAILABLE");
  }
  await using other = await openServer({ beside: server });
  const machine = createTestMachine(other.home);
  await using _two = await startReconciler({
    ...other.deps,
    machine,
    pool_options: other.deps.pool.options,
    allow_private: false,
  });
  expect(other.log.lines).toContainEqual(
    expect.objectContaining({ level: "error", message: expect.stringContaining("leaves databases alone") }),
  );
  await stage.ask("stop");
  await server.deps.db
    .insertInto("control.organizations")
    .values({ name: "later", display_name: "Later", database_quota: 1 })
    .execute();
  await enqueueJob(server.deps.db, "sweep", {}, { key: "sweep" });
  // jobs without pods still run
  await eventually(async () => {
    const { rows } = await sql`select from control.databases where state = 'PROVISIONING'`.execute(server.deps.db);
    expect(rows).toHaveLength(1);
  });
  expect([(await stage.see()).state, stage.machine.pods.running()]).toEqual(["STOPPING", [stage.pod]]);
});
