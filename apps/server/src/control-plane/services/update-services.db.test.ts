import { randomUUID } from "node:crypto";
import type { HostedService } from "@appdb/contract/routes/control-services";
import { aRowRoute } from "@appdb/testkit/manifest-builder";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import {
  type ApplicationDatabase,
  anApplication,
  makeService,
  openApplicationDatabase,
  readServiceRecords,
} from "../../testing/services.ts";
import { digestOf } from "../../testing/tar.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const APP = { app_file: "app.py", folders: [] as string[], service: null, file_digests: null };

function ask(setup: ApplicationDatabase, route: "servicePlan" | "serviceUpdate" | "servicePrune", body: object) {
  const params = { org: setup.org.name, db: "main" };
  const { service: _, ...rest } = { ...APP, ...body } as typeof APP;
  const sent = route === "servicePrune" ? rest : { ...APP, ...body };
  return server.ask(route, { as: setup.member, params, body: sent } as never);
}

async function update(setup: ApplicationDatabase, body: object = {}) {
  const { allow_destructive: _, ...planned } = body as { allow_destructive?: boolean };
  const plan = await ask(setup, "servicePlan", planned);
  expect(plan.status, plan.text).toBe(200);
  const expectedVersion = plan.json.version;
  return await ask(setup, "serviceUpdate", { expected_version: expectedVersion, allow_destructive: false, ...body });
}

async function list(setup: ApplicationDatabase): Promise<HostedService[]> {
  const { json, status, text } = await server.ask("serviceList", { as: setup.member, params: { org: setup.org.name } });
  expect(status, text).toBe(200);
  return json.items;
}

async function changeDatabase(setup: ApplicationDatabase, values: object) {
  await server.deps.db.updateTable("control.databases").set(values).where("id", "=", setup.database_id).execute();
}

test("a plan lists the services that an update starts, and changes nothing", async () => {
  await using setup = await openApplicationDatabase(server);
  const { json } = await ask(setup, "servicePlan", {});
  expect(json.plan).toMatchObject({
    app_file: "app.py",
    target: `cloud://${setup.org.name}:main`,
    in_agreement: false,
    services: [{ name: "ingest", exists: false, resolution: "create", ops: [{ name: "POST /docs" }] }],
  });
  expect(await list(setup)).toEqual([]);
});

test("an update creates a service with its first release, which a job starts", async () => {
  await using setup = await openApplicationDatabase(server);
  const answer = await update(setup);
  expect(answer.status, answer.text).toBe(202);
  expect(answer.json.operations).toMatchObject([{ kind: "service.update", service: "ingest" }]);
  const [service] = await list(setup);
  expect(service).toMatchObject({
    name: "ingest",
    uri: `cloud://${setup.org.name}:main/ingest`,
    state: "DEPLOYING",
    release: null,
    desired_release: 1,
    app_file: "app.py",
    update_pending: false,
    workers: 1,
    reason: null,
    routes: [
      { method: "POST", path: "/docs", route_type: "insert", table: "docs", inputs: ["title"], outputs: ["id"] },
    ],
    operation: { kind: "service.update" },
  });
  expect(await readServiceRecords(server, service?.id ?? "")).toMatchObject({
    releases: [1],
    jobs: 1,
    desired: { release: 1, is_running: true },
    operations: [{ kind: "service.update", state: "pending" }],
  });
});

test("a service that matches its file stays unchanged", async () => {
  await using setup = await openApplicationDatabase(server);
  expect((await update(setup)).status).toBe(202);
  const { id } = (await list(setup))[0] ?? { id: "" };
  const { json } = await update(setup);
  expect(json).toMatchObject({ plan: { in_agreement: true, status: "skipped" }, operations: [] });
  expect(await readServiceRecords(server, id)).toMatchObject({ generation: 1, releases: [1], operations: [{}] });
});

test("a text that releases cannot store is refused before anything is written", async () => {
  await using setup = await openApplicationDatabase(server);
  for (const text of ["a NUL \0", "half of a pair \ud800"]) {
    setup.manifest = anApplication(["ingest"], undefined, { warnings: [text] });
    expect((await ask(setup, "servicePlan", {})).json).toMatchObject({ code: "app_invalid" });
  }
  setup.manifest = anApplication(["ingest"], undefined, { warnings: ["\\u0000 \\ud800 \u{1f600}"] });
  expect((await update(setup)).status).toBe(202);
  expect(await list(setup)).toHaveLength(1);
});

test("an update moves a service to a new release and cancels its running operation", async () => {
  await using setup = await openApplicationDatabase(server);
  const id = await makeService(server, setup);
  for (const sha256 of [digestOf("second"), digestOf("third")]) {
    setup.manifest = anApplication(["ingest"], undefined, { modules: [{ path: "app.py", sha256 }] });
    const { json } = await update(setup);
    expect(json.plan.services).toMatchObject([
      { resolution: "update_additive", ops: [{ description: "app.py changed" }] },
    ]);
  }
  expect(await readServiceRecords(server, id)).toMatchObject({
    state: "UPDATING",
    generation: 3,
    releases: [1, 2, 3],
    desired: { release: 3 },
    operations: [
      { kind: "service.update", state: "cancelled" },
      { kind: "service.update", state: "pending" },
    ],
  });
  const { json } = await server.ask("releaseList", {
    as: setup.member,
    params: { org: setup.org.name, db: "main", service: "ingest" },
  });
  expect(json.items.map(({ changes, number }: { changes: string[]; number: number }) => [number, changes])).toEqual([
    [3, ["app.py changed"]],
    [2, ["app.py changed"]],
    [1, ["change 1"]],
  ]);
});

test("unimported files, another image and other workers also change a service", async () => {
  await using setup = await openApplicationDatabase(server);
  await makeService(server, setup);
  const { observed, desired } = await server.deps.db
    .selectFrom("control.databases")
    .select(["observed", "desired"])
    .where("id", "=", setup.database_id)
    .executeTakeFirstOrThrow();
  const hash = digestOf("environment");
  await changeDatabase(setup, {
    observed: JSON.stringify({ ...observed, environment: hash }),
    desired: JSON.stringify({ ...desired, resources: { ...desired.resources, workers: 2 } }),
  });
  const { json } = await ask(setup, "servicePlan", {});
  expect(json.plan.services[0]).toMatchObject({
    resolution: "update_additive",
    ops: [{ description: "the database has another image" }, { description: "1 worker becomes 2" }],
  });
  expect(await list(setup)).toMatchObject([{ update_pending: true, workers: 1 }]);
  await server.deps.db
    .updateTable("control.releases")
    .set({ tree: digestOf("before") })
    .execute();
  const again = await ask(setup, "servicePlan", {});
  expect(again.json.plan.services[0].ops[0]).toMatchObject({
    description: "the database has other project files, but the application imports none of them",
  });
});

test("tables that differ block the update, and the error names the next command", async () => {
  await using setup = await openApplicationDatabase(server);
  setup.differing = ["docs"];
  const { json } = await update(setup);
  const uri = `cloud://${setup.org.name}:main`;
  expect(json).toMatchObject({ code: "schema_mismatch", hint: `cli schema update app.py ${uri}` });
  expect(await list(setup)).toEqual([]);
});

test("a breaking change for clients is refused unless allowed", async () => {
  await using setup = await openApplicationDatabase(server);
  const id = await makeService(server, setup);
  setup.manifest = anApplication(["ingest"], [aRowRoute("docs", [], [])]);
  expect((await update(setup)).json).toMatchObject({
    code: "destructive_refused",
    hint: expect.stringContaining("--allow-destructive"),
  });
  expect(await readServiceRecords(server, id)).toMatchObject({ generation: 1, releases: [1] });
  expect((await update(setup, { allow_destructive: true })).status).toBe(202);
});

test("an outdated plan is refused with what changed since", async () => {
  await using setup = await openApplicationDatabase(server);
  await makeService(server, setup);
  const stop = () =>
    server.ask("serviceStop", { as: setup.member, params: { org: setup.org.name, db: "main", service: "ingest" } });
  const { json } = await ask(setup, "servicePlan", {});
  await stop();
  const { text } = await ask(setup, "serviceUpdate", { expected_version: json.version, allow_destructive: false });
  expect(JSON.parse(text)).toMatchObject({ code: "generation_moved", meta: { moved: ["services"] } });
  expect(text).toContain(`service.stop of cloud://${setup.org.name}:main/ingest by ${setup.member.email}`);
});

test("of two updates with one plan, one runs and the other is refused", async () => {
  await using setup = await openApplicationDatabase(server);
  const { json } = await ask(setup, "servicePlan", {});
  const body = { expected_version: json.version, allow_destructive: false };
  const answers = await Promise.all([ask(setup, "serviceUpdate", body), ask(setup, "serviceUpdate", body)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
  expect(await list(setup)).toHaveLength(1);
});

test("a repeated request with one key runs once, even if the database is down", async () => {
  await using setup = await openApplicationDatabase(server);
  const { json } = await ask(setup, "servicePlan", {});
  const body = { ...APP, expected_version: json.version, allow_destructive: false };
  const headers = { "idempotency-key": randomUUID() };
  const send = () =>
    server.ask("serviceUpdate", {
      as: setup.member,
      params: { org: setup.org.name, db: "main" },
      body,
      headers,
    } as never);
  const first = await send();
  expect(first.status, first.text).toBe(202);
  await setup.pod[Symbol.asyncDispose]();
  const again = await send();
  expect(again.json).toEqual(first.json);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
});

test("an update from other files than the database's is refused", async () => {
  await using setup = await openApplicationDatabase(server);
  const { json } = await ask(setup, "servicePlan", { file_digests: { "app.py": digestOf("mine") } });
  expect(json).toMatchObject({ code: "project_files_differ", meta: { files: ["app.py"] } });
});

test("a database that is not AVAILABLE refuses, with the next command", async () => {
  await using setup = await openApplicationDatabase(server);
  await changeDatabase(setup, { state: "STOPPED" });
  const { json } = await ask(setup, "servicePlan", {});
  expect(json).toMatchObject({ code: "database_not_available", hint: expect.stringContaining("cli db start") });
});

test("an undefined service is refused, with the defined ones", async () => {
  await using setup = await openApplicationDatabase(server);
  const { json } = await ask(setup, "servicePlan", { service: "ingst" });
  expect(json).toMatchObject({
    code: "service_not_found",
    hint: "Did you mean ingest?",
    meta: { defined: ["ingest"] },
  });
});

test("services in folders are separate from others, also in their files", async () => {
  await using setup = await openApplicationDatabase(server);
  await makeService(server, setup);
  expect((await update(setup, { folders: ["reports"] })).json.operations).toMatchObject([
    { service: "reports/ingest" },
  ]);
  expect((await list(setup)).map(({ name }) => name)).toEqual(["ingest", "reports/ingest"]);
  const { json } = await server.ask("serviceShow", {
    as: setup.member,
    params: { org: setup.org.name, db: "main", service: "reports/ingest" },
  });
  expect(json.name).toBe("reports/ingest");
  const taken = await ask(setup, "servicePlan", { app_file: "other.py" });
  expect(taken.json).toMatchObject({ code: "service_conflict", meta: { app_file: "app.py" } });
});

test("ten releases and the serving one are kept", async () => {
  await using setup = await openApplicationDatabase(server);
  const id = await makeService(server, setup, { releases: 12, desired: { release: 1 } });
  expect((await readServiceRecords(server, id))?.releases).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
});

test("a database cannot have more services than its maximum", async () => {
  await using setup = await openApplicationDatabase(server);
  setup.manifest = anApplication(Array.from({ length: 51 }, (_, index) => `s${index}`));
  expect((await update(setup)).json).toMatchObject({ code: "service_quota", meta: { count: 51, most: 50 } });
});

test("prune removes services that the file does not define; a dry run only names them", async () => {
  await using setup = await openApplicationDatabase(server);
  const kept = await makeService(server, setup);
  const gone = await makeService(server, setup, { name: "old" });
  const elsewhere = await makeService(server, setup, { name: "reports/old" });
  const dry = await ask(setup, "servicePrune", { dry_run: true });
  expect(dry.json).toMatchObject({ plan: { extras: ["old"], ops: [{ name: "old", op: "drop" }] }, operations: [] });
  expect(await readServiceRecords(server, gone)).toMatchObject({ generation: 1 });
  const { json } = await ask(setup, "servicePrune", { dry_run: false });
  expect(json.operations).toMatchObject([{ kind: "service.prune", service: "old" }]);
  expect(await readServiceRecords(server, gone)).toMatchObject({ is_pruned: true, state: "STOPPING", jobs: 1 });
  for (const id of [kept, elsewhere]) expect(await readServiceRecords(server, id)).toMatchObject({ generation: 1 });
  setup.manifest = anApplication(["ingest", "old"]);
  expect((await update(setup, { service: "old" })).json.plan.services).toMatchObject([{ resolution: "create" }]);
  expect(await readServiceRecords(server, gone)).toMatchObject({
    is_pruned: false,
    state: "STARTING",
    releases: [1, 2],
  });
});
