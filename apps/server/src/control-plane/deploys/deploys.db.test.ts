import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endOperation, startOperation } from "../../operations/run-operation.ts";
import { NO_PACKAGES } from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";
import {
  type ApplicationDatabase,
  makeService,
  openApplicationDatabase,
  readServiceRecords,
} from "../../testing/services.ts";
import { addRelease } from "../services/releases.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const MAIN = { db: "main" };
const NO_DEPLOY = { deploy: "019a0000-0000-7000-8000-000000000000" };

const PREPARATION = { app_file: "app.py", settings: {}, files: [], environment: NO_PACKAGES };
const PREPARATIONS: Scenario<ApplicationDatabase>[] = [
  { as: "guest", route: "preparationBegin", params: MAIN, body: PREPARATION, status: 401 },
  {
    as: "outsider",
    route: "preparationBegin",
    params: MAIN,
    body: PREPARATION,
    status: 404,
    includes: ["organization_not_found"],
  },
  {
    as: "member",
    route: "preparationBegin",
    named: "one without a database",
    params: { db: "none" },
    body: PREPARATION,
    status: 404,
    includes: ["database_not_found"],
  },
  {
    as: "member",
    route: "preparationBegin",
    params: MAIN,
    body: PREPARATION,
    status: 202,
    includes: ['"kind":"database.prepare"'],
  },
  {
    as: "member",
    route: "schemaPlan",
    named: "by an unread preparation",
    params: MAIN,
    status: 404,
    body: {
      app_file: "app.py",
      folders: [],
      files: null,
      file_digests: null,
      preparation: "019a0000-0000-7000-8000-000000000000",
    },
    includes: ["preparation_not_found"],
  },
];

describe("who may deploy and undo it", () => {
  let setup: ApplicationDatabase;
  beforeAll(async () => {
    setup = await openApplicationDatabase(server);
  });
  afterAll(() => setup[Symbol.asyncDispose]());
  testScenarios<ApplicationDatabase>(
    () => server,
    async () => setup,
    [
      {
        as: "member",
        route: "deployBegin",
        params: MAIN,
        body: { app_file: "app.py" },
        status: 201,
        includes: ['"running"'],
      },
      {
        as: "member",
        route: "deployBegin",
        named: "one without a database",
        params: { db: "none" },
        body: { app_file: "app.py" },
        status: 404,
        includes: ["database_not_found"],
      },
      {
        as: "member",
        route: "deployEnd",
        params: { db: "main", id: NO_DEPLOY.deploy },
        body: { state: "done" },
        status: 404,
        includes: ["deploy_not_found"],
      },
      {
        as: "member",
        route: "deployBegin",
        named: "another one meanwhile",
        params: MAIN,
        body: { app_file: "app.py" },
        status: 409,
        includes: ["deploy_under_way", "is deploying app.py"],
      },
      {
        as: "member",
        route: "deployRollbackPlan",
        params: MAIN,
        status: 409,
        includes: ["deploy_under_way", "the server notices within a minute"],
      },
      {
        as: "member",
        route: "deployRollback",
        params: MAIN,
        body: NO_DEPLOY,
        status: 409,
        includes: ["deploy_under_way"],
      },
      {
        as: "member",
        route: "deployAlive",
        params: { db: "main", id: NO_DEPLOY.deploy },
        status: 404,
        includes: ["deploy_not_found"],
      },
      ...PREPARATIONS,
    ],
  );
});

/** Deploys like the CLI: other files and image, another release of `ingest`, a new service `fresh`. */
async function deploy(setup: ApplicationDatabase): Promise<string> {
  const { database_id: databaseId, digest, member, org } = setup;
  const params = { org: org.name, db: "main" };
  const ingest = await makeService(server, setup);
  const begun = await server.ask("deployBegin", { as: member, params, body: { app_file: "app.py" } });
  expect(begun.status, begun.text).toBe(201);
  await changeDesired(databaseId, { tree: "f".repeat(64), environment: "e".repeat(64) });
  await server.deps.db.transaction().execute(async (tx) => {
    const { manifest } = await tx.selectFrom("control.releases").select("manifest").executeTakeFirstOrThrow();
    const release = {
      tree: digest,
      environment: null,
      app_file: "app.py",
      manifest,
      workers: 1,
      changes: [],
      created_by: "ann",
    };
    await addRelease(tx, ingest, release);
  });
  await runs(ingest, 2);
  await makeService(server, setup, { name: "fresh" });
  const ended = await server.ask("deployEnd", {
    as: member,
    params: { ...params, id: begun.json.id },
    body: { state: "done" },
  });
  expect(ended.json).toMatchObject({ state: "done", ended_at: expect.any(String) });
  return ingest;
}

async function changeDesired(id: string, values: object): Promise<void> {
  const { desired } = await server.deps.db
    .selectFrom("control.databases")
    .select("desired")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const set = { desired: JSON.stringify({ ...desired, ...values }), state: "AVAILABLE" as const };
  await server.deps.db.updateTable("control.databases").set(set).where("id", "=", id).execute();
}

/** Marks the service as serving a release, as the reconciler does. */
async function runs(serviceId: string, release: number): Promise<void> {
  await server.deps.db
    .updateTable("control.services")
    .set({
      state: "AVAILABLE",
      desired: JSON.stringify({ release, is_running: true, restarts: 0 }),
      observed: JSON.stringify({ release, restarts: 0, instance: release }),
    })
    .where("id", "=", serviceId)
    .execute();
}

const planned = ({ member, org }: ApplicationDatabase) =>
  server.ask("deployRollbackPlan", { as: member, params: { org: org.name, db: "main" } });
const rollBack = ({ member, org }: ApplicationDatabase, id: string) =>
  server.ask("deployRollback", { as: member, params: { org: org.name, db: "main" }, body: { deploy: id } });

test("a deployment is undone in order: services first, then files and image; tables stay", async () => {
  await using setup = await openApplicationDatabase(server);
  const ingest = await deploy(setup);
  setup.hindrances = [{ table: "docs", reason: "docs.title is not there" }];
  const blocked = await planned(setup);
  expect(blocked.json.ops).toContainEqual(
    expect.objectContaining({
      severity: "blocked",
      description: "service 'ingest' cannot go back to release 1: docs.title is not there",
    }),
  );
  expect((await rollBack(setup, blocked.json.deploy.id)).json).toMatchObject({ code: "schema_mismatch" });
  setup.hindrances = [];
  const { json } = await planned(setup);
  expect(json.ops.map(({ description }: { description: string }) => description)).toEqual([
    "service 'fresh', which was deployed, will be stopped and removed",
    "service 'ingest' goes back from release 2 to release 1",
    "the project files will be those from before",
    "the previous image will be used",
  ]);
  expect((await rollBack(setup, NO_DEPLOY.deploy)).json.detail).toContain("another deployment started");
  const first = await rollBack(setup, json.deploy.id);
  expect([first.status, first.json.deploy.state]).toEqual([202, "rolling_back"]);
  expect(first.json.operations.map(({ kind }: { kind: string }) => kind)).toEqual([
    "service.prune",
    "service.rollback",
  ]);
  expect(await readServiceRecords(server, ingest)).toMatchObject({ state: "UPDATING", desired: { release: 1 } });

  // continues the rollback that was cut off here
  await runs(ingest, 1);
  await server.deps.db
    .deleteFrom("control.services")
    .where("name", "=", "fresh")
    .where("org_id", "=", setup.org.id)
    .execute();
  const second = await rollBack(setup, json.deploy.id);
  expect(second.json.operations).toMatchObject([{ kind: "database.update" }]);
  await server.deps.db
    .updateTable("control.databases")
    .set({ state: "AVAILABLE" })
    .where("id", "=", setup.database_id)
    .execute();
  const third = await rollBack(setup, json.deploy.id);
  expect(third.json).toMatchObject({ deploy: { state: "rolled_back" }, operations: [] });
  const row = await server.deps.db
    .selectFrom("control.databases")
    .select("desired")
    .where("id", "=", setup.database_id)
    .executeTakeFirstOrThrow();
  expect(row.desired).toMatchObject({ tree: setup.digest, environment: null });
  expect((await planned(setup)).json).toMatchObject({ code: "deploy_not_found" });
  const events = await server.deps.db
    .selectFrom("control.events")
    .select("action")
    .where("org_id", "=", setup.org.id)
    .where("action", "like", "deploy%")
    .orderBy("id")
    .execute();
  expect(events.map(({ action }) => action)).toEqual(["deploy", "deploy.rollback"]);
});

test("later changes are not undone with a deployment; a sleeping database must be woken first", async () => {
  await using setup = await openApplicationDatabase(server);
  await deploy(setup);
  const { json } = await planned(setup);
  const change = (set: object) =>
    server.deps.db.updateTable("control.databases").set(set).where("id", "=", setup.database_id).execute();
  await change({ state: "STOPPED" });
  expect((await rollBack(setup, json.deploy.id)).json).toMatchObject({ code: "database_not_available" });
  await changeDesired(setup.database_id, { tree: "a".repeat(64) });
  const refused = await planned(setup);
  expect(refused.json).toMatchObject({
    code: "deploy_moved",
    detail: expect.stringContaining("its project files changed"),
  });
});

test("a deployment without a heartbeat counts as cut off, unless its work runs; its client learns of the rollback", async () => {
  await using setup = await openApplicationDatabase(server);
  const { database_id: databaseId, member, org } = setup;
  const params = { org: org.name, db: "main" };
  const begun = await server.ask("deployBegin", { as: member, params, body: { app_file: "app.py" } });
  const { db, recordEvent } = server.deps;
  await sql`update control.deploys set alive_at = now() - interval '2 minutes' where id = ${begun.json.id}`.execute(db);
  const operation = await db.transaction().execute((tx) =>
    startOperation(
      { tx, recordEvent },
      {
        org_id: org.id,
        database_id: databaseId,
        kind: "database.update",
        target: `cloud://${org.name}:main`,
        is_cancellable: true,
        actor: "ann",
        principal: undefined,
        ip_address: null,
        client: null,
      },
    ),
  );
  const refused = await planned(setup);
  expect(refused.json).toMatchObject({ code: "deploy_under_way", hint: expect.stringContaining(`wait ${operation}`) });
  await db.transaction().execute((tx) => endOperation({ tx, recordEvent }, operation ?? "", { state: "succeeded" }));
  expect((await planned(setup)).json).toMatchObject({ deploy: { state: "running" }, ops: [] });
  expect((await rollBack(setup, begun.json.id)).json).toMatchObject({ deploy: { state: "rolled_back" } });
  const alive = await server.ask("deployAlive", { as: member, params: { ...params, id: begun.json.id } });
  expect(alive.json).toMatchObject({ state: "rolled_back" });
});

test("the last ten deployments of a database are kept, with their files", async () => {
  await using setup = await openApplicationDatabase(server);
  const params = { org: setup.org.name, db: "main" };
  for (let made = 0; made < 12; made++) {
    const begun = await server.ask("deployBegin", { as: setup.member, params, body: { app_file: `app${made}.py` } });
    const end = { as: setup.member, params: { ...params, id: begun.json.id }, body: { state: "done" } } as const;
    await server.ask("deployEnd", end);
  }
  const kept = await server.deps.db
    .selectFrom("control.deploys")
    .select("app_file")
    .where("database_id", "=", setup.database_id)
    .orderBy("id")
    .execute();
  expect(kept.map(({ app_file: appFile }) => appFile)).toEqual(
    Array.from({ length: 10 }, (_, at) => `app${at + 2}.py`),
  );
});
