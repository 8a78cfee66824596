import { appError } from "@appdb/contract/errors";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { BUILDER_VERSION, hashEnvironment } from "@appdb/python-runtime/environments/environment";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type HostedDatabase,
  makeDatabase,
  makeFiles,
  makeHostedDatabase,
  NO_PACKAGES,
  readDatabaseRecords,
} from "../../testing/databases.ts";
import { openServer, type TestAnswer, type TestServer } from "../../testing/open-server.ts";
import type { TestPeople, TestPerson } from "../../testing/people.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";
import { digestOf } from "../../testing/tar.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const BARE = { settings: {}, files: [], environment: NO_PACKAGES };
const NEW: EnvironmentDocument = {
  ...NO_PACKAGES,
  source: "requirements.txt",
  files: [{ path: "requirements.txt", text: "iniconfig==2.0" }],
};

const ROWS: Scenario[] = (["databasePlan", "databaseUpdate"] as const).flatMap((route): Scenario[] => {
  const body = route === "databasePlan" ? BARE : { ...BARE, expected_generation: 1 };
  const status = route === "databasePlan" ? 200 : 202;
  const params = { db: "main" };
  return [
    { as: "guest", route, params, body, status: 401 },
    { as: "outsider", route, params, body, status: 404, includes: ["organization_not_found"], excludes: ["AVAILABLE"] },
    ...(["member", "admin", "owner"] as const).map((as): Scenario => ({ as, route, params, body, status })),
    {
      as: "member",
      named: "member, no name",
      route,
      params: { db: "Main db" },
      body,
      status: 422,
      includes: ["invalid_name"],
    },
    { as: "member", named: "member, a reserved name", route, params: { db: "postgres" }, body, status: 422 },
    {
      as: "member",
      named: "member, the name of a device",
      route,
      params: { db: "con" },
      body,
      status: 422,
      includes: ["invalid_name"],
    },
    {
      as: "member",
      named: "member, a tree with a path outside of it",
      route,
      params,
      body: { ...body, files: [{ path: "../evil", size: 0, is_executable: false, chunks: [], link: null }] },
      status: 422,
      includes: ["tree_invalid"],
    },
    {
      as: "member",
      named: "member, too large",
      route,
      params,
      body: { ...body, settings: { cpu: 100_000 } },
      status: 422,
      includes: ["resources_refused", "SERVICE_MAX_CPU"],
    },
    {
      as: "member",
      named: "member, an unknown setting",
      route,
      params,
      body: { ...body, settings: { gpu: 1 } },
      status: 422,
    },
  ];
});

describe("who may plan and update a database", () => {
  testScenarios(() => server, makeHostedDatabase, ROWS);
});

const send = (
  route: "databasePlan" | "databaseUpdate",
  setup: TestPeople,
  db: string,
  body: object,
  as: TestPerson = setup.member,
) => server.ask(route, { as, params: { org: setup.org.name, db }, body } as never);
const plan = (setup: TestPeople, db: string, body: object = {}) =>
  send("databasePlan", setup, db, { ...BARE, ...body });
const update = (setup: TestPeople, db: string, body: object = {}, as?: TestPerson): Promise<TestAnswer> =>
  send("databaseUpdate", setup, db, { ...BARE, expected_generation: 1, ...body }, as);
const images = (setup: TestPeople) =>
  server.deps.db
    .selectFrom("control.images")
    .select(["state", "environment"])
    .where("org_id", "=", setup.org.id)
    .execute();

describe("a plan", () => {
  test("changes nothing, for existing and missing databases", async () => {
    const setup = await makeHostedDatabase(server);
    const files = await makeFiles(server, setup.org, { "app.py": "x" }, []);
    expect((await plan(setup, "main", { files, environment: NEW })).json).toMatchObject({
      exists: true,
      state: "AVAILABLE",
      generation: 1,
      resolution: "update",
      in_agreement: false,
      missing_files: 1,
      missing_bytes: 1,
      summary: { ops: 2, rebuild: true },
    });
    expect((await plan(setup, "extra", { settings: { cpu: 0.5 } })).json).toMatchObject({
      uri: `cloud://${setup.org.name}:extra`,
      exists: false,
      state: "absent",
      generation: 0,
      resolution: "create",
    });
    expect(await readDatabaseRecords(server, setup.database_id)).toMatchObject({
      generation: 1,
      operations: [],
      jobs: 0,
    });
    const databases = await server.deps.db
      .selectFrom("control.databases")
      .where("org_id", "=", setup.org.id)
      .select("name")
      .execute();
    expect(databases).toEqual([{ name: "main" }]);
    expect(await images(setup)).toEqual([]);
  });

  test("that cannot be built is refused early, and so is its update; a running image is not", async () => {
    const setup = await makeHostedDatabase(server);
    const pods = server.deps.pods;
    pods.checkEnvironment = async ({ system_packages: systemPackages }) => {
      if (systemPackages.length > 0) throw appError("system_packages_refused", { detail: "There are none here." });
    };
    try {
      const environment = { ...NEW, system_packages: ["ffmpeg"] };
      expect((await plan(setup, "main", { environment })).json.code).toBe("system_packages_refused");
      expect((await plan(setup, "extra", { environment })).json.code).toBe("system_packages_refused");
      expect((await update(setup, "main", { environment })).json.code).toBe("system_packages_refused");
      expect((await plan(setup, "main", { environment: { ...NEW, files: [] } })).json).toMatchObject({
        code: "environment_refused",
        detail: "The environment cannot be built: it has no requirements.txt.",
      });
      const hash = hashEnvironment(environment, BUILDER_VERSION);
      await makeDatabase(server, setup.org, { name: "runs", desired: { environment: hash } });
      expect((await plan(setup, "runs", { environment })).status).toBe(200);
    } finally {
      pods.checkEnvironment = undefined;
    }
    expect(await readDatabaseRecords(server, setup.database_id)).toMatchObject({ generation: 1, operations: [] });
  });
});

describe("an update", () => {
  test("records files, environment, resources and settings, with one operation, event and job", async () => {
    const setup = await makeHostedDatabase(server);
    const files = await makeFiles(server, setup.org, { "app.py": "x", "lib/a.py": "" });
    const settings = { cpu: 0.5, sleep_after: "15m" };
    const { status, json, text } = await update(setup, "main", {
      files,
      settings,
      environment: NEW,
      allow_destructive: true,
    });
    expect(status, text).toBe(202);
    expect(json).toMatchObject({
      database: { state: "UPDATING", generation: 2, resources: { cpu: 1 }, desired_resources: { cpu: 0.5 } },
      operation: { kind: "database.update" },
    });
    const left = await readDatabaseRecords(server, setup.database_id);
    expect(left).toMatchObject({
      state: "UPDATING",
      desired: { resources: { cpu: 0.5, memory_mb: 1_024 }, settings: { sleep_after: "15m" } },
      operations: [{ kind: "database.update", state: "pending" }],
      events: ["database.update pending"],
      jobs: 1,
    });
    const tree = await server.deps.db
      .selectFrom("control.trees")
      .selectAll()
      .where("org_id", "=", setup.org.id)
      .where("digest", "=", left?.desired.tree ?? "")
      .executeTakeFirstOrThrow();
    expect(tree).toMatchObject({ files: 2, bytes: "1", entries: files });
    expect(await images(setup)).toEqual([{ state: "building", environment: NEW }]);
    const operations = await server.ask("operationList", { as: setup.member, params: { org: setup.org.name } });
    expect(operations.json.items[0].detail).toContain("cpu will be 0.5 rather than 1");
    const again = await update(setup, "main", { files, settings, environment: NEW, expected_generation: 2 });
    expect([again.status, again.json.code]).toEqual([409, "database_not_available"]);
  });

  test("without a change does nothing, and drops an earlier failed update", async () => {
    const setup = await makeHostedDatabase(server);
    const id = await makeDatabase(server, setup.org, {
      name: "extra",
      desired: { environment: "e".repeat(64), builds: 1 },
      observed: { environment: null, builds: 0 },
    });
    const error = { code: "build_failed", detail: "No.", hint: null };
    const lastBuild = JSON.stringify({ state: "failed", error, operation_id: null, at: new Date().toISOString() });
    await server.deps.db.updateTable("control.databases").set({ last_build: lastBuild }).where("id", "=", id).execute();
    expect((await update(setup, "extra")).json).toMatchObject({
      operation: null,
      database: { state: "AVAILABLE", last_build: null },
    });
    expect(await readDatabaseRecords(server, id)).toMatchObject({
      generation: 1,
      operations: [],
      jobs: 0,
      desired: { environment: null, builds: 0 },
    });
  });

  test("without its uploaded files is refused, and nothing is written", async () => {
    const setup = await makeHostedDatabase(server);
    const files = await makeFiles(server, setup.org, { "a.py": "one", "b.py": "two" }, ["a.py"]);
    const { json } = await update(setup, "main", { files });
    expect(json).toMatchObject({
      code: "blobs_missing",
      meta: { files: 1 },
      detail: expect.stringContaining('"b.py"'),
    });
    expect(await readDatabaseRecords(server, setup.database_id)).toMatchObject({ generation: 1, operations: [] });
    const lies = files.slice(0, 1).map((entry) => ({ ...entry, size: 9 }));
    expect((await update(setup, "main", { files: lies })).json).toMatchObject({
      code: "tree_invalid",
      detail: expect.stringContaining('"a.py" declares 9 bytes but has 3 uploaded bytes'),
    });
  });

  test("cannot use files that another organization uploaded", async () => {
    const setup = await makeHostedDatabase(server);
    const files = await makeFiles(server, setup.other_org, { "secret.py": "theirs" });
    expect((await update(setup, "main", { files })).json).toMatchObject({ code: "blobs_missing" });
    expect((await plan(setup, "main", { files })).json).toMatchObject({ missing_files: 1 });
  });

  test("that removes something is refused until it is allowed", async () => {
    const setup = await makeHostedDatabase(server);
    const settings = { memory_mb: 512 };
    const refused = await update(setup, "main", { settings });
    expect(refused.json).toMatchObject({
      code: "destructive_refused",
      status: 409,
      hint: "Allow it: --allow-destructive",
      detail: expect.stringContaining("memory_mb will be 512 rather than 1024, less than before"),
    });
    expect((await update(setup, "main", { settings, allow_destructive: true })).status).toBe(202);
  });

  test("planned for another generation is refused, with who did what since", async () => {
    const setup = await makeHostedDatabase(server);
    const answers = await Promise.all([
      update(setup, "main", { settings: { cpu: 2 } }, setup.owner),
      update(setup, "main", { settings: { cpu: 2 } }, setup.admin),
    ]);
    const lost = answers.find(({ status }) => status !== 202);
    const winner = answers[0]?.status === 202 ? setup.owner : setup.admin;
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(lost?.json).toMatchObject({ code: "generation_moved", meta: { expected: 1, generation: 2 } });
    expect(lost?.json.detail).toContain(`${winner.email} updated it at `);
    expect(lost?.json.detail).toContain("cpu will be 2 rather than 1");
    expect(await readDatabaseRecords(server, setup.database_id)).toMatchObject({ generation: 2, jobs: 1 });
  });
});

describe("a new database", () => {
  const create = (setup: TestPeople, db: string, body: object = {}) =>
    update(setup, db, { expected_generation: 0, ...body });

  test("is created by its update, and provisioned", async () => {
    const setup = await makeHostedDatabase(server);
    const files = await makeFiles(server, setup.org, { "app.py": "x" });
    const { status, json, text } = await create(setup, "extra", { files, environment: NEW, settings: { disk_gb: 2 } });
    expect(status, text).toBe(202);
    expect(json).toMatchObject({
      database: { name: "extra", state: "PROVISIONING", generation: 1, desired_resources: { disk_gb: 2, cpu: 1 } },
      operation: { kind: "database.provision" },
    });
    expect(await readDatabaseRecords(server, json.database.id)).toMatchObject({
      operations: [{ kind: "database.provision", state: "pending" }],
      jobs: 1,
      generation: 1,
      desired: { tree: expect.stringMatching(/^[0-9a-f]{64}$/), environment: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });

  test("is created once by concurrent requests, and not above the quota", async () => {
    const setup = await makeHostedDatabase(server);
    const same = await Promise.all([1, 2, 3].map(() => create(setup, "same")));
    expect(same.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
    const others = await Promise.all(["b", "c", "d"].map((name) => create(setup, name)));
    expect(others.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
    expect(others.find(({ status }) => status === 409)?.json).toMatchObject({
      code: "database_quota",
      detail: expect.stringContaining(`${setup.org.name} has 3 databases; the maximum is 3`),
    });
    expect((await plan(setup, "e")).json).toMatchObject({ code: "database_quota" });
  });

  test("cannot take the name of a database that is being deleted", async () => {
    const setup = await makeHostedDatabase(server);
    await makeDatabase(server, setup.org, { name: "extra", state: "DELETING" });
    for (const answer of [await create(setup, "extra"), await plan(setup, "extra")]) {
      expect(answer.json).toMatchObject({
        code: "database_exists",
        hint: `Take the deletion back: cli db undelete cloud://${setup.org.name}:extra`,
      });
    }
  });

  test("cannot be created as main, which is still being made", async () => {
    const setup: HostedDatabase = await makeHostedDatabase(server);
    await server.deps.db.deleteFrom("control.databases").where("id", "=", setup.database_id).execute();
    const answer = await create(setup, "main");
    expect(answer.json).toMatchObject({ code: "database_not_available", meta: { state: "PROVISIONING" } });
  });
});

test("an update of 20,000 files is accepted", async () => {
  const setup = await makeHostedDatabase(server);
  await makeFiles(server, setup.org, { one: "x" });
  const files = Array.from({ length: 20_000 }, (_, at) => ({
    path: `lib/${String(at).padStart(5, "0")}/module.py`,
    size: 1,
    is_executable: false,
    link: null,
    chunks: [digestOf("x")],
  }));
  const answer = await update(setup, "main", { files });
  expect(answer.status, answer.text.slice(0, 300)).toBe(202);
});
