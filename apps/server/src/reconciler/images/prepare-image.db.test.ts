import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { NO_PACKAGES } from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { openTestReconciler, type TestReconciler } from "../../testing/test-reconciler.ts";
import type { Reconciler } from "../reconciler.ts";

let server: TestServer;
let setup: TestReconciler;
let reconciler: Reconciler;
beforeAll(async () => {
  server = await openServer();
  setup = await openTestReconciler(server);
  reconciler = await setup.start();
  await setup.settles("AVAILABLE");
});
afterAll(async () => {
  await reconciler[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => setup.machine.build({ outcome: "succeeds" }));

const NAMED = (setup: TestReconciler) => ({ org: setup.org.name, db: "data" });

/** Requests an image of another Python version, because each environment is built once. */
async function prepare(pythonVersion: string) {
  const environment = { ...NO_PACKAGES, python_version: pythonVersion };
  const request = { settings: { cpu: 1 }, files: [], environment };
  const params = NAMED(setup);
  const body = { ...request, app_file: "app.py" };
  const begun = await server.ask("preparationBegin", { as: setup.owner, params, body });
  expect(begun.status, begun.text).toBe(202);
  return { operation: begun.json.operation.id as string, id: begun.json.id as string, request, params };
}

const operation = async (id: string) =>
  (await server.ask("operationShow", { as: setup.owner, params: { org: setup.org.name, id } })).json;
const ends = (id: string, state: string) =>
  eventually(async () => expect(await operation(id)).toMatchObject({ state }));
const manifests = async (id: string) =>
  (await sql<{ manifest: unknown }>`select manifest from control.preparations where id = ${id}`.execute(server.deps.db))
    .rows;

/** Everything of a database that a preparation must not change. */
async function seen() {
  const { awake_because: _, jobs: __, ...row } = await setup.see();
  return { ...row, operations: row.operations.filter((text) => !text.startsWith("database.prepare")) };
}

test("builds an image that reads the application, without changing the database; the update reuses the image", async () => {
  const before = await seen();
  const builds = setup.machine.builds();
  setup.machine.build({ outcome: "succeeds", lines: ["Installed six"] });
  const { id, operation, params, request } = await prepare("3.12");
  await ends(operation, "succeeded");
  expect(await seen()).toEqual(before);
  expect(await manifests(id)).toMatchObject([{ manifest: { tables: [] } }]);
  const { rows } =
    await sql`select line from control.operation_lines where operation_id = ${operation} order by number`.execute(
      server.deps.db,
    );
  expect(rows).toEqual([{ line: "Installed six" }, { line: "read app.py" }]);
  expect(setup.machine.pods.starts(setup.pod)).toBe(1);

  const again = await prepare("3.12");
  await ends(again.operation, "succeeded");
  const update = { ...request, expected_generation: before.generation };
  await server.ask("databaseUpdate", { as: setup.owner, params, body: update });
  await setup.settles("AVAILABLE");
  expect((await setup.see()).observed?.environment).not.toBe(null);
  expect(setup.machine.builds()).toBe(builds + 1);
});

test("a failed or cancelled build changes nothing", async () => {
  const before = await seen();
  setup.machine.build({ outcome: "fails" });
  const failed = await prepare("3.13");
  await ends(failed.operation, "failed");
  const { error } = await operation(failed.operation);
  expect(error).toMatchObject({
    code: "build_failed",
    hint: `Run: cli deploy app.py cloud://${setup.org.name}:data`,
  });
  const builds = setup.machine.builds();
  setup.machine.build({ outcome: "hangs" });
  const cancelled = await prepare("3.13");
  await eventually(() => expect(setup.machine.builds()).toBe(builds + 1));
  const params = { org: setup.org.name, id: cancelled.operation };
  expect((await server.ask("operationCancel", { as: setup.owner, params })).status).toBe(200);
  await eventually(async () => expect((await setup.see()).jobs).toBe(0));
  expect(await manifests(cancelled.id)).toEqual([{ manifest: null }]);
  expect(await seen()).toEqual(before);
  // a cancelled preparation does not block the next one
  setup.machine.build({ outcome: "succeeds" });
  await ends((await prepare("3.13")).operation, "succeeded");
});

test("a killed preparation resumes after its build, and at most four are prepared at once", async () => {
  const builds = setup.machine.builds();
  await reconciler.stop("keep pods");
  const { id, operation } = await prepare("3.14");
  expect(await setup.killBehind("image_there")).toBe(true);
  expect(await manifests(id)).toEqual([{ manifest: null }]);
  for (let more = 0; more < 3; more++) await prepare("3.14");
  const refused = server.ask("preparationBegin", {
    as: setup.owner,
    params: NAMED(setup),
    body: { settings: {}, files: [], environment: NO_PACKAGES, app_file: "app.py" },
  });
  expect((await refused).json).toMatchObject({ code: "overloaded", detail: expect.stringContaining("4 deployments") });
  reconciler = await setup.start();
  await ends(operation, "succeeded");
  expect(setup.machine.builds()).toBeLessThanOrEqual(builds + 2);
});
