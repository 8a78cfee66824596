import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLocalClient, type LocalClient } from "@appdb/contract/clients/local-client";
import { HOME_PATHS } from "@appdb/contract/home";
import type { App } from "@appdb/contract/routes/local";
import { VERSION } from "@appdb/contract/version";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findService, insertDoc, serveExample } from "../testing/example-service.ts";
import { openTestHome, waitFor } from "../testing/test-home.ts";

const TIMEOUT = 180_000;
/** One daemon for all tests of this file; each test uses its own database. */
const tested = openTestHome();
let client: LocalClient;

beforeAll(async () => {
  client = await tested.startDaemon();
}, TIMEOUT);

afterAll(async () => {
  await tested[Symbol.asyncDispose]();
}, TIMEOUT);

test("plans without changes, makes tables, and then plans nothing", { timeout: TIMEOUT }, async () => {
  const app = await tested.readApp("plans/reports");
  const { manifest, target } = app;
  expect((await client.call("schemaPlan", { body: { manifest, target } })).plan).toMatchObject({
    in_agreement: false,
    catalog_version: 0,
    tables: [{ resolution: "create" }],
  });
  expect((await client.call("schemaPlan", { body: { manifest, target } })).plan.in_agreement).toBe(false);
  await expect(
    client.call("openTarget", { body: { ...app, services: ["ingest"], pid: process.pid } }),
  ).rejects.toMatchObject({
    code: "schema_mismatch",
    hint: "cli schema update app.py plans/reports",
  });
  const applied = (await client.call("schemaApply", { body: { ...app, catalog_version: 0, allow_destructive: false } }))
    .plan;
  expect(applied).toMatchObject({ in_agreement: true, status: "applied" });
  expect((await client.call("schemaPlan", { body: { manifest, target } })).plan).toMatchObject({ in_agreement: true });
  await expect(
    client.call("schemaApply", { body: { ...app, catalog_version: 0, allow_destructive: false } }),
  ).rejects.toMatchObject({
    code: "catalog_moved",
  });
});

test("serves an updated service, keeps its port and skips unchanged updates", {
  timeout: TIMEOUT,
}, async () => {
  const app = await tested.readApp("updates", { TOKEN: "s3cret" });
  const request = { ...app, service: null, port: null };
  expect((await client.call("servicePlan", { body: request })).plan.services).toMatchObject([
    { resolution: "blocked" },
  ]);
  await expect(client.call("serviceApply", { body: { ...request, allow_destructive: false } })).rejects.toMatchObject({
    code: "schema_mismatch",
    hint: "cli schema update app.py updates",
  });
  const first = await serveExample(client, app);
  await expect(client.call("servicePlan", { body: { ...request, target: "updtaes" } })).rejects.toMatchObject({
    code: "database_not_found",
    message: "No local database named 'updtaes'. Did you mean 'updates'?",
  });
  expect(first).toMatchObject({ state: "AVAILABLE", app_file: "app.py", project_root: tested.project_root });
  const inserted = await insertDoc(first.endpoint, "Hello");
  expect(inserted).toMatchObject({ status: 200, body: { title_upper: "HELLO" } });

  const again = (await client.call("serviceApply", { body: { ...request, allow_destructive: false } })).plan;
  expect(again).toMatchObject({ in_agreement: true, status: "skipped", services: [{ status: "skipped" }] });
  expect((await findService(client, "updates/ingest")).pid).toBe(first.pid);

  const appFile = join(tested.project_root, "app.py");
  writeFileSync(appFile, `${readFileSync(appFile, "utf8")}\n# another line\n`);
  const changed = { ...(await tested.readApp("updates", { TOKEN: "s3cret" })), service: null, port: null };
  const plan = (await client.call("servicePlan", { body: changed })).plan;
  expect(plan.services[0]?.ops).toMatchObject([{ description: "app.py changed", severity: "additive" }]);
  await client.call("serviceApply", { body: { ...changed, allow_destructive: false } });
  const restarted = await findService(client, "updates/ingest");
  expect(restarted).toMatchObject({ state: "AVAILABLE", port: first.port });
  expect(restarted.pid).not.toBe(first.pid);

  await client.call("serviceApply", { body: { ...changed, port: restarted.port + 1, allow_destructive: false } });
  expect(await findService(client, "updates/ingest")).toMatchObject({ state: "AVAILABLE", port: restarted.port + 1 });

  const privateFiles = [`${HOME_PATHS.services}/updates/ingest.json`, HOME_PATHS.token, HOME_PATHS.daemon];
  for (const path of privateFiles) expect(statSync(join(tested.home, path)).mode & 0o077).toBe(0);
  expect(readFileSync(join(tested.home, HOME_PATHS.daemonLog), "utf8")).not.toContain("s3cret");
});

test("stops, restarts, logs and prunes services and refuses unknown names", {
  timeout: TIMEOUT,
}, async () => {
  const app = await tested.readApp("stops");
  const served = await serveExample(client, app);
  expect(await client.call("serviceStop", { body: { name: "stops/ingest" } })).toMatchObject({
    state: "STOPPED",
    endpoint: null,
  });
  expect((await client.call("servicePlan", { body: { ...app, service: null, port: null } })).plan.in_agreement).toBe(
    false,
  );
  expect(await client.call("serviceRestart", { body: { name: "stops/ingest" } })).toMatchObject({
    state: "AVAILABLE",
    port: served.port,
  });
  const lines: string[] = [];
  const query = { name: "stops/ingest", tail: 50, follow: "0" };
  for await (const { line } of client.lines("serviceLogs", { query }, new AbortController().signal)) lines.push(line);
  expect(lines.join("\n")).toContain("service listens");
  await expect(client.call("serviceStop", { body: { name: "stops/ingst" } })).rejects.toMatchObject({
    code: "service_not_found",
    hint: "Did you mean stops/ingest?",
  });
  const without = { ...app, manifest: { ...app.manifest, services: [] } };
  expect((await client.call("servicePrune", { body: { ...without, dry_run: true } })).plan).toMatchObject({
    ops: [{ name: "ingest", status: null }],
  });
  expect((await client.call("serviceList", { query: { target: "stops" } })).services).toHaveLength(1);
  expect((await client.call("servicePrune", { body: { ...without, dry_run: false } })).plan).toMatchObject({
    ops: [{ name: "ingest", status: "applied" }],
  });
  expect((await client.call("serviceList", { query: { target: "stops" } })).services).toEqual([]);
});

test("a log follower gets new lines until it disconnects", { timeout: TIMEOUT }, async () => {
  await serveExample(client, await tested.readApp("stops"));
  const away = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    const query = { name: "stops/ingest", tail: 1, follow: "1" };
    for await (const { line } of client.lines("serviceLogs", { query }, away.signal)) {
      seen.push(line);
      // The first start's own line may arrive after the follower began.
      if (seen.some((one) => one.includes("service stops")) && line.includes("service listens")) away.abort();
    }
  })().catch(() => undefined);
  // existing lines come first
  await waitFor(() => seen.length > 0);
  await client.call("serviceRestart", { body: { name: "stops/ingest" } });
  await following;
  expect(seen.slice(1).some((line) => line.includes("service stops"))).toBe(true);
  await waitFor(async () => {
    const up = (await client.call("serviceList", {})).services.filter(({ endpoint }) => endpoint !== null);
    return (await client.call("health", {})).busy === up.length;
  });
});

test("plans, lists and command results use the same service names", { timeout: TIMEOUT }, async () => {
  const app = await tested.readApp("named/twice");
  const called = { name: "ingest", catalog_path: "named/twice" };
  expect(
    (await client.call("servicePlan", { body: { ...app, service: null, port: null } })).plan.services,
  ).toMatchObject([called]);
  await serveExample(client, app);
  expect(
    (await client.call("servicePlan", { body: { ...app, service: null, port: null } })).plan.services,
  ).toMatchObject([called]);
  expect((await client.call("serviceList", { query: { target: "named/twice" } })).services).toMatchObject([called]);
  expect((await client.call("serviceList", { query: { target: "named/twice/ingest" } })).services).toEqual(
    (await client.call("serviceList", { query: { target: "named/twice" } })).services,
  );
  expect(await client.call("serviceRestart", { body: { name: "named/twice/ingest" } })).toMatchObject(called);
  expect(await client.call("serviceStop", { body: { name: "named/twice/ingest" } })).toMatchObject(called);
});

test("refuses a port in use before changing anything", { timeout: TIMEOUT }, async () => {
  const app = await tested.readApp("ports");
  const served = await serveExample(client, app);
  const daemonPort = tested.readDaemonFile()?.port ?? 0;
  const request = { ...app, service: null, port: daemonPort, allow_destructive: false };
  await expect(client.call("serviceApply", { body: request })).rejects.toMatchObject({
    code: "port_taken",
    message: expect.stringContaining(String(daemonPort)),
  });
  expect(await findService(client, "ports/ingest")).toMatchObject({ pid: served.pid, port: served.port });
});

test("without Python, serves compiled routes and fails services that need it", {
  timeout: TIMEOUT,
}, async () => {
  const app = await tested.readApp("fails");
  await serveExample(client, app);
  const broken = { ...app, runtime: { ...app.runtime, python: join(tested.folder, "no-python") } };
  const options = { service: null, port: null, allow_destructive: true };
  await client.call("serviceApply", { body: { ...broken, ...options } });
  const { endpoint } = await findService(client, "fails/ingest");
  const post = async (path: string) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${endpoint}${path}`, { method: "POST", headers, body: '{"title":"a"}' });
    return await answer.json();
  };
  expect(await post("/titles")).toEqual({ title_upper: "A" });
  expect(await post("/docs")).toMatchObject({ status: 503, code: "worker_unavailable" });

  const services = app.manifest.services.map((service) => ({
    ...service,
    routes: service.routes.filter((route) => route.path === "/docs"),
  }));
  const needing = { ...broken, manifest: { ...app.manifest, services } };
  await expect(client.call("serviceApply", { body: { ...needing, ...options } })).rejects.toMatchObject({
    code: "service_failed",
    hint: expect.stringContaining("cli service update <file> <target>"),
  });
  const failed = await findService(client, "fails/ingest");
  expect(failed).toMatchObject({ state: "FAILED", pid: null });
  expect(failed.error).not.toBe("");
});

test("refuses strangers, older commands and invalid manifests", { timeout: TIMEOUT }, async () => {
  const { port } = tested.readDaemonFile() ?? { port: 0 };
  await expect(createLocalClient({ port, token: "wrong" }).call("health", {})).rejects.toMatchObject({
    code: "unauthorized",
  });
  const token = readFileSync(join(tested.home, HOME_PATHS.token), "utf8").trim();
  const old = await fetch(`http://127.0.0.1:${port}/v1/health`, {
    headers: { authorization: `Bearer ${token}`, "x-client-version": "0.7.9" },
  });
  expect(old.status).toBe(426);
  const health = async (shown: string) =>
    (
      await fetch(`http://127.0.0.1:${port}/v1/health`, {
        headers: { authorization: `Bearer ${shown}`, "x-client-version": VERSION },
      })
    ).headers;
  expect((await health(token)).get("x-server-build")).not.toBeNull();
  expect((await health("wrong")).get("x-server-build")).toBeNull();
  expect(await old.json()).toMatchObject({ code: "client_too_old", hint: "pip install --upgrade 'appdb[serve]'" });
  const app = await tested.readApp("strangers");
  const newer = { ...app.manifest, manifest_version: 2 } as unknown as App["manifest"];
  await expect(client.call("schemaPlan", { body: { target: "strangers", manifest: newer } })).rejects.toMatchObject({
    code: "manifest_too_new",
  });
  const unknown = { ...app.manifest, surprise: 1 } as App["manifest"];
  await expect(client.call("schemaPlan", { body: { target: "strangers", manifest: unknown } })).rejects.toMatchObject({
    code: "manifest_invalid",
  });
  const tables = app.manifest.tables.map((table) => ({ ...table, name: "_errors" }));
  const named = { ...app.manifest, tables };
  await expect(client.call("schemaPlan", { body: { target: "strangers", manifest: named } })).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("'_errors' cannot be the name of a table"),
  });
  await expect(
    client.call("schemaPlan", { body: { target: "no target!", manifest: app.manifest } }),
  ).rejects.toMatchObject({
    code: "invalid_target",
  });
});

test("creates an empty database once", { timeout: TIMEOUT }, async () => {
  const create = async (name: string, ifExists?: "ignore") =>
    await client.call("databaseCreate", { body: { name, ...(ifExists && { if_exists: ifExists }) } });
  expect(await create("empty")).toEqual({ created: true });
  expect((await client.call("databaseList", {})).databases.find(({ name }) => name === "empty")?.tables).toBe(0);
  expect(await create("empty", "ignore")).toEqual({ created: false });
  await expect(create("empty")).rejects.toMatchObject({ code: "database_exists" });
  await expect(create("empty/folder")).rejects.toMatchObject({ code: "invalid_target" });
  await client.call("databaseDelete", { body: { name: "empty", dry_run: false } });
});

test("lists and deletes databases except served or missing ones", {
  timeout: TIMEOUT,
}, async () => {
  const app = await tested.readApp("scratch");
  await serveExample(client, app);
  const found = (await client.call("databaseList", {})).databases.find(({ name }) => name === "scratch");
  expect(found).toMatchObject({ tables: 1, projects: [tested.project_root], services: [{ name: "scratch/ingest" }] });
  expect(found?.bytes).toBeGreaterThan(1_000_000);
  await expect(client.call("databaseDelete", { body: { name: "scratch", dry_run: false } })).rejects.toMatchObject({
    code: "service_state",
    hint: "Stop them first: cli service stop scratch/ingest",
  });
  await client.call("serviceStop", { body: { name: "scratch/ingest" } });
  const elsewhere = { ...app, runtime: { ...app.runtime, project_root: "/other" }, services: ["ingest"], pid: 1 };
  await expect(client.call("openTarget", { body: elsewhere })).rejects.toMatchObject({ code: "service_conflict" });
  const media = join(tested.home, HOME_PATHS.media, "scratch");
  mkdirSync(join(media, "home"), { recursive: true });
  writeFileSync(join(media, "home", "photo.jpg"), "sea");
  const gone = { name: "scratch", tables: [{ path: "scratch/docs", rows: 0 }], services: ["scratch/ingest"] };
  expect(await client.call("databaseDelete", { body: { name: "scratch", dry_run: true } })).toEqual(gone);
  expect(existsSync(media)).toBe(true);
  expect(await client.call("databaseDelete", { body: { name: "scratch", dry_run: false } })).toEqual(gone);
  expect(existsSync(media)).toBe(false);
  expect((await client.call("databaseList", {})).databases.map(({ name }) => name)).not.toContain("scratch");
  expect((await client.call("serviceList", { query: { target: "scratch" } })).services).toEqual([]);
  await expect(client.call("databaseDelete", { body: { name: "scratch", dry_run: false } })).rejects.toMatchObject({
    code: "database_not_found",
  });
  // the name is free again, and a plan reports a new database
  const plan = (await client.call("schemaPlan", { body: { target: "scratch", manifest: app.manifest } })).plan;
  expect(plan.other_databases).toBeInstanceOf(Array);
  await serveExample(client, app);
  expect(
    (await client.call("schemaPlan", { body: { target: "scratch", manifest: app.manifest } })).plan,
  ).not.toHaveProperty("other_databases");
});

test("a plan names services that it breaks and a restart the missing step", {
  timeout: TIMEOUT,
}, async () => {
  const app = await tested.readApp("breaks");
  await serveExample(client, app);
  const [table] = app.manifest.tables;
  const renamed = table?.columns.map((column) =>
    column.name === "body" ? { ...column, name: "text", renamed_from: "body" } : column,
  );
  const columns = renamed?.filter(({ computed, primary_key: primaryKey }) => computed === null || primaryKey);
  const manifest = {
    ...app.manifest,
    services: [],
    functions: [],
    tables: [{ ...table, columns, indexes: [] }],
  } as App["manifest"];
  const { breaks, catalog_version: catalogVersion } = (
    await client.call("schemaPlan", { body: { target: "breaks", manifest } })
  ).plan;
  expect(breaks).toMatchObject([{ service: "breaks/ingest", tables: ["breaks/docs"] }]);
  await client.call("schemaApply", {
    body: { ...app, manifest, catalog_version: catalogVersion, allow_destructive: true },
  });
  await client.call("serviceRestart", { body: { name: "breaks/ingest" } });
  expect(await findService(client, "breaks/ingest")).toMatchObject({
    state: "FAILED",
    error: "The tables of breaks have changed since the service was started: docs.",
    hint: "Update the service from the current app.py: cli service update app.py breaks",
  });
});
