import { DATABASE_STATES, type DatabaseState } from "@appdb/contract/routes/control-databases";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  makeDatabase,
  makeFiles,
  makeHostedDatabase,
  NO_PACKAGES,
  readDatabaseRecords,
} from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople, type TestPeople } from "../../testing/people.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const VERBS = [
  "databaseBuildImage",
  "databaseStart",
  "databaseStop",
  "databaseRestart",
  "databaseRetry",
  "databaseUndelete",
  "databaseDelete",
] as const;
type Verb = (typeof VERBS)[number];

const MAIN = { db: "main" };
const ROWS: Scenario[] = VERBS.flatMap((route): Scenario[] => [
  { as: "guest", route, params: MAIN, status: 401, excludes: ["AVAILABLE"] },
  { as: "outsider", route, params: MAIN, status: 404, includes: ["organization_not_found"], excludes: ["AVAILABLE"] },
  {
    as: "owner",
    named: "owner, of a missing database",
    route,
    params: { db: "other" },
    status: 404,
    includes: ["database_not_found", "cli db update cloud://"],
  },
  {
    as: "outsider",
    named: "outsider, through their own organization",
    route,
    params: ({ other_org: otherOrg }) => ({ org: otherOrg.name, db: "main" }),
    status: 404,
    includes: ["database_not_found"],
    excludes: [({ org }) => org.name],
  },
]);

describe("who may request what of a database", () => {
  testScenarios(() => server, makeHostedDatabase, [
    ...ROWS,
    { as: "guest", route: "databaseMetrics", status: 401, excludes: ["AVAILABLE"] },
    { as: "outsider", route: "databaseMetrics", status: 404, excludes: ["AVAILABLE"] },
    {
      as: "member",
      route: "databaseMetrics",
      status: 200,
      includes: [({ org }) => `appdb_database_state{organization="${org.name}",database="main",state="AVAILABLE"} 1`],
      excludes: [({ other_org: otherOrg }) => otherOrg.name],
    },
    { as: "member", route: "databaseStop", params: MAIN, status: 202, includes: ["STOPPING", "database.stop"] },
    { as: "member", route: "databaseDelete", params: MAIN, status: 403, includes: ["database.delete"] },
    { as: "member", route: "databaseUndelete", params: MAIN, status: 403, includes: ["database.delete"] },
    {
      as: "owner",
      named: "owner, main",
      route: "databaseDelete",
      params: MAIN,
      status: 409,
      includes: ["database_protected", "cli db stop cloud://"],
    },
  ]);
});

const ask = (route: Verb, setup: TestPeople, db: string, query = {}) =>
  server.ask(route, { as: setup.owner, params: { org: setup.org.name, db }, query } as never);

describe("a request", () => {
  test.each<[Verb, DatabaseState, DatabaseState, string, object]>([
    ["databaseStop", "AVAILABLE", "STOPPING", "database.stop", { is_awake: false }],
    ["databaseStart", "STOPPED", "STARTING", "database.start", { is_awake: true }],
    ["databaseRestart", "AVAILABLE", "STARTING", "database.restart", { is_awake: true, restarts: 1 }],
    ["databaseRetry", "FAILED", "STARTING", "database.retry", { is_awake: true, restarts: 1 }],
    ["databaseBuildImage", "FAILED", "PROVISIONING", "database.build", { builds: 1 }],
    ["databaseDelete", "AVAILABLE", "DELETING", "database.delete", { is_awake: false }],
    ["databaseUndelete", "DELETING", "STOPPED", "database.undelete", { is_awake: false }],
  ])("%s of a %s database leads to %s", async (route, state, next, kind, desired) => {
    const setup = await makePeople(server);
    const id = await makeDatabase(server, setup.org, {
      name: "extra",
      state,
      desired: { is_awake: state !== "STOPPED" },
    });
    const { status, json, text } = await ask(route, setup, "extra");
    expect(status, text).toBe(202);
    expect(json).toMatchObject({ database: { state: next, generation: 2, operation: { kind } }, operation: { kind } });
    expect(json.database.operation).toEqual(json.operation);
    expect(await readDatabaseRecords(server, id)).toEqual({
      state: next,
      generation: 2,
      desired: expect.objectContaining(desired),
      jobs: 1,
      operations: [{ kind, state: "pending" }],
      events: [`${kind} pending`],
      purged_in_s: next === "DELETING" ? 7 * 86_400 : null,
    });
  });

  test("that changes nothing is answered as such", async () => {
    const setup = await makePeople(server);
    const asAsked = [
      ["databaseStop", "STOPPED"],
      ["databaseStop", "STOPPING"],
      ["databaseStart", "AVAILABLE"],
      ["databaseStart", "STARTING"],
      ["databaseDelete", "DELETING"],
      // the base library alone is not an image
      ["databaseBuildImage", "AVAILABLE"],
    ] as const;
    for (const [route, state] of asAsked) {
      const name = `${route.slice(8).toLowerCase()}-${state.toLowerCase()}`;
      const id = await makeDatabase(server, setup.org, { name, state });
      expect((await ask(route, setup, name)).json, name).toMatchObject({ database: { state }, operation: null });
      expect(await readDatabaseRecords(server, id), name).toMatchObject({
        state,
        generation: 1,
        operations: [],
        jobs: 0,
      });
    }
  });

  test.each(DATABASE_STATES.filter((state) => state !== "AVAILABLE"))(
    "to restart is refused while the database is %s, with the state and a next step",
    async (state) => {
      const setup = await makePeople(server);
      const id = await makeDatabase(server, setup.org, { state });
      const { status, json } = await ask("databaseRestart", setup, "main");
      expect([status, json.code]).toEqual([409, "database_not_available"]);
      expect(json.detail).toBe(`cloud://${setup.org.name}:main is ${state}; it must be AVAILABLE to be restarted.`);
      expect(json.hint).toContain(`cloud://${setup.org.name}:main`);
      expect(await readDatabaseRecords(server, id)).toMatchObject({
        state,
        generation: 1,
        operations: [],
        jobs: 0,
        events: [],
      });
    },
  );

  test("replaces a running one, whose operation ends as cancelled", async () => {
    const setup = await makePeople(server);
    const id = await makeDatabase(server, setup.org, { name: "extra", state: "STOPPED" });
    await ask("databaseStart", setup, "extra");
    await ask("databaseStop", setup, "extra");
    await ask("databaseDelete", setup, "extra");
    expect(await readDatabaseRecords(server, id)).toMatchObject({
      state: "DELETING",
      generation: 4,
      operations: [
        { kind: "database.start", state: "cancelled" },
        { kind: "database.stop", state: "cancelled" },
        { kind: "database.delete", state: "pending" },
      ],
      jobs: 1,
      events: [
        "database.start pending",
        "operation.cancel succeeded",
        "database.stop pending",
        "operation.cancel succeeded",
        "database.delete pending",
      ],
    });
  });

  test("sent many times at once is carried out once", async () => {
    const setup = await makePeople(server);
    const id = await makeDatabase(server, setup.org);
    const answers = await Promise.all([1, 2, 3, 4].map(() => ask("databaseStop", setup, "main")));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(answers.filter(({ json }) => json.operation !== null)).toHaveLength(1);
    expect(await readDatabaseRecords(server, id)).toMatchObject({ generation: 2, jobs: 1 });
  });

  test("repeated with its Idempotency-Key is the same request", async () => {
    const setup = await makePeople(server);
    const id = await makeDatabase(server, setup.org);
    const input = {
      as: setup.owner,
      params: { org: setup.org.name, db: "main" },
      headers: { "idempotency-key": "restart-1" },
    };
    const answers = [await server.ask("databaseRestart", input), await server.ask("databaseRestart", input)];
    expect(answers[1]?.text).toBe(answers[0]?.text);
    expect(await readDatabaseRecords(server, id)).toMatchObject({
      generation: 2,
      operations: [{ kind: "database.restart" }],
    });
  });
});

describe("a deletion", () => {
  test("with `now` removes the storage at once, also for a waiting deletion", async () => {
    const setup = await makePeople(server);
    const id = await makeDatabase(server, setup.org, { name: "extra" });
    expect((await ask("databaseDelete", setup, "extra")).json.database.purged_at).toMatch(/^\d{4}-/);
    expect((await ask("databaseDelete", setup, "extra", { now: "1" })).json.operation).not.toBeNull();
    expect(await readDatabaseRecords(server, id)).toMatchObject({ state: "DELETING", purged_in_s: 0, generation: 3 });
    const late = await ask("databaseUndelete", setup, "extra");
    expect(late.json).toMatchObject({ code: "database_state", detail: expect.stringContaining("is being removed") });
  });

  test("keeps the storage for the operator's number of days", async () => {
    await using other = await openServer({ beside: server, env: { SERVICE_UNDELETE_DAYS: "1" } });
    const setup = await makePeople(other);
    const id = await makeDatabase(other, setup.org, { name: "extra" });
    await other.ask("databaseDelete", { as: setup.owner, params: { org: setup.org.name, db: "extra" } });
    expect(await readDatabaseRecords(other, id)).toMatchObject({ purged_in_s: 86_400 });
  });
});

test("the operations of a database and its services are listed, without other organizations' operations", async () => {
  const setup = await makePeople(server);
  const { name: org, id: orgId } = setup.org;
  for (const name of ["one", "two"]) await makeDatabase(server, setup.org, { name });
  await server.deps.db
    .insertInto("control.operations")
    .values(
      [`cloud://${org}:one/ingest`, `cloud://${org}:one2/ingest`].map((target) => ({
        org_id: orgId,
        database_id: null,
        kind: "service.update",
        target,
        is_cancellable: false,
        actor: "ann",
      })),
    )
    .execute();
  await ask("databaseStop", setup, "one");
  await ask("databaseRestart", setup, "two");
  const kinds = async (database?: string, org = setup.org, as = setup.owner) => {
    const { json } = await server.ask("operationList", { as, params: { org: org.name }, query: { database } } as never);
    return json.items.map(({ kind }: { kind: string }) => kind);
  };
  expect(await kinds("one")).toEqual(["database.stop", "service.update"]);
  expect(await kinds("two")).toEqual(["database.restart"]);
  expect(await kinds("three")).toEqual([]);
  expect(await kinds("one", setup.other_org, setup.outsider)).toEqual([]);
});

describe("a build", () => {
  const environment = {
    ...NO_PACKAGES,
    source: "requirements.txt" as const,
    files: [{ path: "requirements.txt", text: "iniconfig==2.0" }],
  };
  const build = (setup: TestPeople, db: string, body: object) =>
    server.ask("databaseBuildImage", { as: setup.owner, params: { org: setup.org.name, db }, body } as never);

  test("of a FAILED database takes the files that are sent, and more of a resource, never less", async () => {
    const setup = await makePeople(server);
    const id = await makeDatabase(server, setup.org, { name: "extra", state: "FAILED", observed: null });
    const files = await makeFiles(server, setup.org, { "app.py": "x = 1\n" });
    const settings = { memory_mb: 2_048, disk_gb: 1, sleep_after: "5m" };
    const { json, status, text } = await build(setup, "extra", { settings, files, environment });
    expect(status, text).toBe(202);
    expect(json.operation.kind).toBe("database.build");
    const left = await readDatabaseRecords(server, id);
    expect(left).toMatchObject({ state: "PROVISIONING", generation: 2, jobs: 1 });
    expect(left?.desired).toMatchObject({
      builds: 1,
      tree: expect.any(String),
      environment: expect.any(String),
      resources: { memory_mb: 2_048, disk_gb: 10 },
      settings: { sleep_after: "5m" },
    });
  });

  test("of an AVAILABLE database takes other files but keeps its size; without a change it does nothing", async () => {
    const setup = await makePeople(server);
    const id = await makeDatabase(server, setup.org, { name: "extra" });
    const files = await makeFiles(server, setup.org, { "app.py": "x = 2\n" });
    const sent = { settings: { memory_mb: 2_048 }, files, environment: NO_PACKAGES };
    expect((await build(setup, "extra", sent)).status).toBe(202);
    const left = await readDatabaseRecords(server, id);
    expect(left).toMatchObject({ state: "UPDATING", desired: { resources: { memory_mb: 1_024 } } });
    const same = await makeDatabase(server, setup.org, { name: "same", desired: { tree: left?.desired.tree ?? null } });
    expect((await build(setup, "same", sent)).json).toMatchObject({ operation: null });
    expect(await readDatabaseRecords(server, same)).toMatchObject({ state: "AVAILABLE", generation: 1, jobs: 0 });
  });

  test("without the bytes of its files is refused, also for a sleeping database", async () => {
    const setup = await makePeople(server);
    const id = await makeDatabase(server, setup.org, { name: "extra", state: "FAILED" });
    await makeDatabase(server, setup.org, { name: "asleep", state: "STOPPED" });
    const files = await makeFiles(server, setup.org, { "app.py": "x = 3\n" }, []);
    const sent = { settings: {}, files, environment };
    expect((await build(setup, "extra", sent)).json.code).toBe("blobs_missing");
    expect(await readDatabaseRecords(server, id)).toMatchObject({ state: "FAILED", generation: 1 });
    expect((await build(setup, "asleep", sent)).json.code).toBe("database_state");
  });
});
