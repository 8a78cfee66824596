import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { enqueueJob } from "../../queue/jobs.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { createTestMachine } from "../../testing/test-machine.ts";
import { openTestReconciler, type TestReconciler } from "../../testing/test-reconciler.ts";
import { startReconciler } from "../reconciler.ts";

let server: TestServer;
let setup: TestReconciler;
beforeEach(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
});
afterEach(() => server[Symbol.asyncDispose]());

test("two reconcilers of one home start a database once", async () => {
  await using other = await openServer({ beside: server });
  await using _one = await setup.start();
  await using _two = await startReconciler({
    ...other.deps,
    machine: setup.machine,
    pool_options: other.deps.pool.options,
    allow_private: false,
  });
  await setup.settles("AVAILABLE");
  await setup.ask("restart");
  await setup.settles("AVAILABLE");
  expect(setup.machine.pods.starts(setup.pod)).toBe(2);
});

test("two reconcilers of two homes conflict: the second leaves databases alone and reports it", async () => {
  {
    await using _one = await setup.start();
    await setup.settles("AVAILABLE");
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
  await setup.ask("stop");
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
  expect([(await setup.see()).state, setup.machine.pods.running()]).toEqual(["STOPPING", [setup.pod]]);
});
