import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogLine } from "@appdb/contract/routes/control-databases";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLocateVolume } from "../../pods/locate-volume.ts";
import { makeDatabase } from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../../testing/people.ts";
import { testScenarios } from "../../testing/scenarios.ts";
import { anApplication, makeService, openApplicationDatabase, readServiceRecords } from "../../testing/services.ts";
import { digestOf } from "../../testing/tar.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

interface Setup extends TestPeople {
  readonly database_id: string;
  readonly digest: string;
  /** `ingest` serves the second of two releases. */
  readonly service_id: string;
  /** A key that may manage `ingest` of `main`. */
  readonly key: string;
}

async function openSetup(): Promise<Setup> {
  const people = await makePeople(server);
  const databaseId = await makeDatabase(server, people.org);
  const place = { org: people.org, database_id: databaseId, digest: digestOf("tree") };
  const serviceId = await makeService(server, place, { releases: 2 });
  await makeService(server, place, { name: "other", state: "STOPPED" });
  await makeService(server, place, { name: "broken", state: "FAILED" });
  const grants = [`manage:cloud://${people.org.name}:main/services/ingest`];
  const key = await makeKey(server, people.org, people.owner, { name: "deploy", grants });
  return { ...people, ...place, service_id: serviceId, key };
}

const INGEST = { db: "main", service: "ingest" };
const LIST = { route: "serviceList" } as const;
const SHOW = { route: "serviceShow", params: INGEST } as const;
const OTHER = { db: "main", service: "other" };
const key = (setup: Setup) => ({ api_key: setup.key });
/** The expected row of the serving service after a request. */
const becomes = (expected: object) => async (_server: TestServer, setup: Setup) => {
  expect(await readServiceRecords(server, setup.service_id)).toMatchObject(expected);
};
const untouched = becomes({ generation: 1, operations: [], jobs: 0 });

/** Read-only scenarios share a set-up. */
let shared: Promise<Setup> | undefined;
const shareSetup = () => (shared ??= openSetup());

describe("who may read services", () => {
  testScenarios<Setup>(() => server, shareSetup, [
    { as: "member", ...LIST, status: 200, includes: ['"ingest"', '"other"', '"broken"'] },
    {
      as: "member",
      ...LIST,
      named: "member, a page",
      query: { limit: "1" },
      status: 200,
      includes: ['"broken"'],
      excludes: ['"ingest"'],
    },
    {
      as: "member",
      ...LIST,
      named: "member, another database",
      query: { database: "none" },
      status: 404,
      includes: ["database_not_found"],
    },
    {
      as: key,
      named: "key that may manage one",
      ...LIST,
      status: 200,
      includes: ['"ingest"'],
      excludes: ['"other"'],
    },
    {
      as: key,
      named: "key that may manage one of another database",
      ...LIST,
      query: { database: "none" },
      status: 403,
      includes: ["forbidden"],
    },
    {
      as: "member",
      ...SHOW,
      status: 200,
      includes: ['"release":2', '"AVAILABLE"', '"endpoint":null'],
    },
    {
      as: "member",
      route: "serviceShow",
      named: "member, a missing one",
      params: { db: "main", service: "ingst" },
      status: 404,
      includes: ["service_not_found", "cli service list"],
    },
    { as: key, named: "key that may manage it", ...SHOW, status: 200, includes: ['"ingest"'] },
    {
      as: key,
      named: "key that may manage another",
      route: "serviceShow",
      params: OTHER,
      status: 403,
      includes: ["forbidden"],
    },
    {
      as: key,
      named: "key that may manage services",
      route: "databaseShow",
      params: { db: "main" },
      status: 404,
      includes: ["organization_not_found"],
    },
    {
      as: key,
      named: "key that may manage another",
      route: "serviceStop",
      params: OTHER,
      status: 403,
      after: untouched,
    },
    {
      as: "member",
      route: "serviceRetry",
      named: "member, a running service",
      params: INGEST,
      status: 409,
      includes: ["service_state", "STOPPED or FAILED"],
      after: untouched,
    },
    {
      as: "member",
      route: "serviceRollback",
      named: "member, a missing service",
      params: INGEST,
      body: { release: 7 },
      status: 404,
      includes: ["release_not_found", "2, 1"],
      after: untouched,
    },
    {
      as: "member",
      route: "serviceRollback",
      named: "member, a service with one release",
      params: OTHER,
      body: { release: null },
      status: 404,
      includes: ["release_not_found"],
    },
    {
      as: "member",
      route: "releaseList",
      params: INGEST,
      query: { limit: "1" },
      status: 200,
      includes: ['"number":2', '"change 2"'],
      excludes: ['"number":1,', "manifest"],
    },
  ]);
});

describe("who may change services", () => {
  testScenarios<Setup>(() => server, openSetup, [
    {
      as: "member",
      route: "serviceRestart",
      params: INGEST,
      status: 202,
      includes: ['"kind":"service.restart"'],
      after: becomes({
        state: "UPDATING",
        desired: { restarts: 1 },
        operations: [{ kind: "service.restart" }],
        jobs: 1,
      }),
    },
    {
      as: key,
      named: "key that may manage it",
      route: "serviceRestart",
      params: INGEST,
      status: 202,
      after: becomes({ state: "UPDATING", generation: 2 }),
    },
    {
      as: "member",
      route: "serviceStop",
      params: INGEST,
      status: 202,
      includes: ['"STOPPING"'],
      after: becomes({
        state: "STOPPING",
        desired: { is_running: false },
        operations: [{ kind: "service.stop" }],
        jobs: 1,
      }),
    },
    {
      as: "member",
      route: "serviceStop",
      named: "member, a stopped service",
      params: OTHER,
      status: 202,
      includes: ['"operation":null'],
    },
    {
      as: "member",
      route: "serviceRetry",
      params: { db: "main", service: "broken" },
      status: 202,
      includes: ['"STARTING"', '"kind":"service.retry"'],
    },
    {
      as: "member",
      route: "serviceRollback",
      named: "member, the current release",
      params: INGEST,
      body: { release: 2 },
      status: 202,
      includes: ['"operation":null'],
      after: untouched,
    },
  ]);
});

test("a sleeping database starts no service, and its services say why", async () => {
  const setup = await openSetup();
  await server.deps.db
    .updateTable("control.databases")
    .set({ state: "STOPPED" })
    .where("id", "=", setup.database_id)
    .execute();
  await server.deps.db
    .updateTable("control.services")
    .set({ state: "STOPPED" })
    .where("id", "=", setup.service_id)
    .execute();
  const params = { org: setup.org.name, ...INGEST };
  for (const route of ["serviceRestart", "serviceRetry"] as const) {
    const { json } = await server.ask(route, { as: setup.member, params });
    expect(json).toMatchObject({ code: "database_not_available", hint: expect.stringContaining("cli db start") });
  }
  expect((await server.ask("serviceShow", { as: setup.member, params })).json.reason).toBe("its database sleeps");
  const { json } = await server.ask("serviceStop", { as: setup.member, params });
  expect(json).toMatchObject({ service: { state: "STOPPED", reason: null }, operation: { kind: "service.stop" } });
});

test("a service rolls back only to the last release that served and fits the tables", async () => {
  await using setup = await openApplicationDatabase(server);
  const id = await makeService(server, setup, { name: "reports/ingest", releases: 4 });
  await sql`update control.releases set served_at = null where service_id = ${id} and number = 3`.execute(
    server.deps.db,
  );
  const rollBackTo = (release: number | null) => ({
    as: setup.member,
    params: { org: setup.org.name, db: "main", service: "reports/ingest" },
    body: { release },
  });
  const rollBack = (release: number | null) => server.ask("serviceRollback", rollBackTo(release));
  setup.hindrances = [
    { table: "docs", reason: "docs.title is not there" },
    { table: "docs", reason: "docs.author is not known to it and must be given" },
  ];
  const refused = await rollBack(1);
  const target = `cloud://${setup.org.name}:main/reports`;
  expect([refused.status, refused.json]).toMatchObject([
    409,
    {
      code: "schema_mismatch",
      detail: `Release 1 of ${target}/ingest does not fit the current tables: docs.title is not there; docs.author is not known to it and must be given.`,
      hint: expect.stringContaining(`cli deploy app.py ${target}`),
    },
  ]);
  expect(await readServiceRecords(server, id)).toMatchObject({
    state: "AVAILABLE",
    operations: [],
    desired: { release: 4 },
  });
  expect(JSON.parse(setup.pod.asked.at(-1)?.body ?? "")).toMatchObject({
    folders: ["reports"],
    manifest: { app_file: "app.py" },
  });
  const planned = async () => (await server.ask("serviceRollbackPlan", rollBackTo(null))).json;
  expect(await planned()).toMatchObject({
    from: 4,
    to: 2,
    ops: [{ severity: "blocked", details: { next: expect.stringContaining(target) } }],
  });
  setup.hindrances = [];
  await sql`update control.releases set manifest = replace(manifest::text, '"/docs"', '"/added"')::json
    where service_id = ${id} and number = 4`.execute(server.deps.db);
  expect((await planned()).ops.map(({ description }: { description: string }) => description)).toEqual([
    "service 'reports/ingest' goes back from release 4 to release 2",
    "route 'POST /docs' will be added",
    "route 'POST /added' will be removed",
  ]);
  expect((await rollBack(null)).status).toBe(202);
  expect(await readServiceRecords(server, id)).toMatchObject({
    state: "UPDATING",
    desired: { release: 2 },
    releases: [1, 2, 3, 4],
    operations: [{ kind: "service.rollback" }],
  });
});

test("a key updates the services of its grants, and sees only their operations", async () => {
  await using setup = await openApplicationDatabase(server);
  await makeService(server, setup, { name: "other" });
  const grants = [`manage:cloud://${setup.org.name}:main/services/ingest`];
  const as = { api_key: await makeKey(server, setup.org, setup.owner, { name: "deploy", grants }) };
  const params = { org: setup.org.name, db: "main" };
  const body = { app_file: "app.py", folders: [], service: null, file_digests: null };
  const plan = await server.ask("servicePlan", { as, params, body });
  expect(plan.json.plan).toMatchObject({ services: [{ name: "ingest" }], extras: [], summary: { extras: 0 } });
  for (const brought of [{ files: [] }, { preparation: randomUUID() }]) {
    const refused = await server.ask("servicePlan", { as, params, body: { ...body, ...brought } });
    expect(refused).toMatchObject({ status: 403, json: { code: "forbidden" } });
    expect(refused.json.detail).toContain("can plan only with the database's own files");
  }
  const update = { ...body, expected_version: plan.json.version, allow_destructive: false };
  const { json } = await server.ask("serviceUpdate", { as, params, body: update });
  const [operation] = json.operations;
  const show = (id: string) => server.ask("operationShow", { as, params: { org: setup.org.name, id } });
  expect((await show(operation.id)).json).toMatchObject({ kind: "service.update", actor: "key deploy" });
  const logOf = async (service: string) =>
    (await server.ask("serviceLogs", { as, params: { ...params, service }, query: {} })).status;
  expect([await logOf("ingest"), await logOf("other"), await logOf("none")]).toEqual([200, 403, 403]);
  const other = await server.ask("serviceStop", { as: setup.member, params: { ...params, service: "other" } });
  expect((await show(other.json.operation.id)).json).toMatchObject({ code: "operation_not_found" });
  expect(
    (
      await server.ask("servicePrune", {
        as,
        params,
        body: { app_file: "app.py", folders: [], file_digests: null, dry_run: false },
      })
    ).status,
  ).toBe(403);
  setup.manifest = anApplication(["ingest", "more"]);
  expect((await server.ask("servicePlan", { as, params, body })).status).toBe(403);
});

test("setting a secret returns the running services that still lack it", async () => {
  const setup = await openSetup();
  const uri = `cloud://${setup.org.name}:main/ingest`;
  const params = { org: setup.org.name, db: "main", name: "TOKEN" };
  const body = { value: "new" };
  const ofOrg = await server.ask("secretSet", { as: setup.owner, params, body });
  expect(ofOrg.json).toMatchObject({ name: "TOKEN", restart: [uri] });
  const ofDatabase = await server.ask("databaseSecretSet", { as: setup.owner, params, body });
  expect(ofDatabase.json.restart).toEqual([uri]);
  expect((await server.ask("secretSet", { as: setup.owner, params, body })).json.restart).toEqual([]);
});

test("a service's log is filtered by text, route and request, and hides health checks by default", async () => {
  const setup = await openSetup();
  const log = { kind: "logs", database_id: setup.database_id, service_id: setup.service_id } as const;
  const logFolder = createLocateVolume(server.deps.config)(log);
  mkdirSync(logFolder, { recursive: true });
  const lines = [
    { msg: "service listens" },
    { msg: "request", req: "r1", route: "/docs", status: 200 },
    { msg: "request", req: "r2", route: "/health", status: 200, health: true },
    { msg: "request", req: "r3", route: "/titles", status: 500 },
    { msg: "request", req: "r4", route: "/docs", status: 200 },
  ];
  const text = lines.map((line) => `${JSON.stringify({ level: 30, time: Date.now(), ...line })}\n`).join("");
  writeFileSync(join(logFolder, "pod.log"), text);
  const read = async (query: Record<string, string>) => {
    const params = { org: setup.org.name, ...INGEST };
    const answer = await server.ask("serviceLogs", { as: setup.member, params, query });
    const found = answer.text.split("\n").filter((line) => line !== "");
    return found.map((line) => /"req":"(r\d)"/.exec((JSON.parse(line) as LogLine).line)?.[1] ?? "none");
  };
  expect(await read({})).toEqual(["none", "r1", "r3", "r4"]);
  expect(await read({ include_health: "1" })).toEqual(["none", "r1", "r2", "r3", "r4"]);
  expect(await read({ route: "/docs", tail: "1" })).toEqual(["r4"]);
  expect(await read({ request_id: "r3" })).toEqual(["r3"]);
  expect(await read({ search: "LISTENS" })).toEqual(["none"]);
});
