import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive, type ProcessIdentity } from "@appdb/adapters/processes/process-identity";
import { createLocalClient, type LocalClient } from "@appdb/contract/client";
import { HOME_PATHS } from "@appdb/contract/home";
import type { App, ServiceRecord } from "@appdb/contract/routes/local";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type DaemonHarness, hasEnded, openHarness, processOf, waitFor } from "../testing/daemon-harness.ts";

const TIMEOUT = 90_000;
let harness: DaemonHarness;

beforeEach(() => {
  harness = openHarness();
});

afterEach(async () => {
  await harness[Symbol.asyncDispose]();
}, TIMEOUT);

async function serveExample(client: LocalClient, app: App): Promise<ServiceRecord> {
  const { catalog_version } = await client.schemaPlan({ target: app.target, manifest: app.manifest });
  await client.schemaApply({ ...app, catalog_version, allow_destructive: false });
  await client.serviceApply({ ...app, service: null, port: null, allow_destructive: false });
  return findService(client, `${app.target}/ingest`);
}

async function findService(client: LocalClient, name: string): Promise<ServiceRecord> {
  const found = (await client.serviceList(undefined)).find((record) => record.name === name);
  if (found === undefined) throw new Error(`There is no service ${name}.`);
  return found;
}

async function insertDoc(endpoint: string | null, title: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${endpoint}/docs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title, body: "World" }),
  });
  return { status: response.status, body: await response.json() };
}

/** Sends a row until it is taken, as a client that retries does. */
async function insertUntilTaken(endpoint: string | null, title: string): Promise<void> {
  await waitFor(() =>
    insertDoc(endpoint, title).then(
      (answer) => answer.status === 200,
      () => false,
    ),
  );
}

function runtimeFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => /^appdb-\d+-[0-9a-f]{12}$/.test(name));
}

test("of twenty daemons started at once one stays, and each starter finds it", { timeout: TIMEOUT }, async () => {
  const starters = Array.from({ length: 20 }, () => harness.spawnDaemon());
  await waitFor(() => starters.filter((child) => !hasEnded(child)).length === 1, 60_000);
  const winner = starters.find((child) => !hasEnded(child));
  expect(starters.filter((child) => child !== winner).map((child) => child.exitCode)).toEqual(Array(19).fill(0));
  const health = await harness.client().health();
  expect(health).toMatchObject({ pid: winner?.pid, services: 0 });
});

test("a plan changes nothing, an update makes the tables, a second plan is empty", { timeout: TIMEOUT }, async () => {
  const client = await harness.startDaemon();
  const app = await harness.readApp("main/reports");
  const { manifest, target } = app;
  expect(await client.schemaPlan({ manifest, target })).toMatchObject({
    in_agreement: false,
    catalog_version: 0,
    tables: [{ resolution: "create" }],
  });
  expect((await client.schemaPlan({ manifest, target })).in_agreement).toBe(false);
  await expect(client.openTarget(app)).rejects.toMatchObject({
    code: "schema_mismatch",
    hint: "cli schema update app.py main/reports",
  });
  const applied = await client.schemaApply({ ...app, catalog_version: 0, allow_destructive: false });
  expect(applied).toMatchObject({ in_agreement: true, status: "applied" });
  expect(await client.schemaPlan({ manifest, target })).toMatchObject({ in_agreement: true });
  await expect(client.schemaApply({ ...app, catalog_version: 0, allow_destructive: false })).rejects.toMatchObject({
    code: "catalog_moved",
  });
});

test("an updated service serves, keeps its port, and is left alone when nothing changed", {
  timeout: TIMEOUT,
}, async () => {
  const client = await harness.startDaemon();
  const app = await harness.readApp("main", { TOKEN: "s3cret" });
  const request = { ...app, service: null, port: null };
  expect((await client.servicePlan(request)).services).toMatchObject([{ resolution: "blocked" }]);
  await expect(client.serviceApply({ ...request, allow_destructive: false })).rejects.toMatchObject({
    code: "schema_mismatch",
    hint: "cli schema update app.py main",
  });
  const first = await serveExample(client, app);
  expect(first).toMatchObject({ state: "AVAILABLE", app_file: "app.py", project_root: harness.project_root });
  const inserted = await insertDoc(first.endpoint, "Hello");
  expect(inserted).toMatchObject({ status: 200, body: { title_upper: "HELLO" } });

  const again = await client.serviceApply({ ...request, allow_destructive: false });
  expect(again).toMatchObject({ in_agreement: true, status: "skipped", services: [{ status: "skipped" }] });
  expect((await findService(client, "main/ingest")).pid).toBe(first.pid);

  const app_file = join(harness.project_root, "app.py");
  writeFileSync(app_file, `${readFileSync(app_file, "utf8")}\n# another line\n`);
  const changed = { ...(await harness.readApp("main", { TOKEN: "s3cret" })), service: null, port: null };
  const plan = await client.servicePlan(changed);
  expect(plan.services[0]?.ops).toMatchObject([{ description: "app.py changed", severity: "additive" }]);
  await client.serviceApply({ ...changed, allow_destructive: false });
  const restarted = await findService(client, "main/ingest");
  expect(restarted).toMatchObject({ state: "AVAILABLE", port: first.port });
  expect(restarted.pid).not.toBe(first.pid);

  await client.serviceApply({ ...changed, port: restarted.port + 1, allow_destructive: false });
  expect(await findService(client, "main/ingest")).toMatchObject({ state: "AVAILABLE", port: restarted.port + 1 });

  const private_files = [`${HOME_PATHS.services}/main/ingest.json`, HOME_PATHS.token, HOME_PATHS.daemon];
  for (const path of private_files) expect(statSync(join(harness.home, path)).mode & 0o077).toBe(0);
  expect(readFileSync(join(harness.home, HOME_PATHS.daemonLog), "utf8")).not.toContain("s3cret");
});

test("PostgreSQL, a service and the daemon are killed, and every row is there after each", {
  timeout: TIMEOUT,
}, async () => {
  let client = await harness.startDaemon();
  const served = await serveExample(client, await harness.readApp("main"));
  await insertUntilTaken(served.endpoint, "first");

  const postgres = harness.findPostgres();
  process.kill(postgres?.pid ?? 0, "SIGKILL");
  await insertUntilTaken(served.endpoint, "second");
  expect(harness.findPostgres()?.pid).not.toBe(postgres?.pid);

  process.kill(processOf(await findService(client, "main/ingest")).pid, "SIGKILL");
  await insertUntilTaken(served.endpoint, "third");

  const before = await findService(client, "main/ingest");
  const left: ProcessIdentity[] = [processOf(before), harness.findPostgres()].filter((one) => one !== undefined);
  process.kill(harness.readDaemonFile()?.pid ?? 0, "SIGKILL");
  client = await harness.startDaemon();
  await insertUntilTaken(served.endpoint, "fourth");
  expect(left.filter(isAlive)).toEqual([]);
  expect(await findService(client, "main/ingest")).toMatchObject({ state: "AVAILABLE", port: served.port });
});

test("a daemon killed while it makes its cluster leaves nothing that hinders the next", {
  timeout: TIMEOUT,
}, async () => {
  const folder = join(harness.home, HOME_PATHS.postgres);
  const unfinished = () =>
    (existsSync(folder) ? readdirSync(folder) : []).filter((name) => name.startsWith("unfinished-"));
  const first = harness.spawnDaemon();
  await waitFor(() => unfinished().length > 0);
  first.kill("SIGKILL");
  const client = await harness.startDaemon();
  await waitFor(async () => (await client.health()).postgres === "up");
  await waitFor(() => unfinished().length === 0);
});

test("an own server serves tables and services, and is left running", { timeout: TIMEOUT }, async () => {
  await using other = openHarness();
  const theirs = await other.startDaemon();
  const app = await harness.readApp("main");
  await theirs.schemaApply({ ...app, catalog_version: 0, allow_destructive: false });
  const { dsn } = await theirs.openTarget(app);
  const client = await harness.startDaemon({ SERVICE_LOCAL_DATABASE_URL: dsn });
  const served = await serveExample(client, { ...app, target: "elsewhere" });
  await insertUntilTaken(served.endpoint, "Hello");
  expect(harness.findPostgres()).toBeUndefined();
  await client.stop();
  await waitFor(() => harness.readDaemonFile() === undefined);
  expect(await theirs.schemaPlan({ target: "elsewhere", manifest: app.manifest })).toMatchObject({
    in_agreement: true,
  });
  expect(other.findPostgres()).toBeDefined();
});

test("an own server that does not answer is told by each command, not by a daemon that is gone", {
  timeout: TIMEOUT,
}, async () => {
  const client = await harness.startDaemon({ SERVICE_LOCAL_DATABASE_URL: "postgresql://me:s3cret@127.0.0.1:9/main" });
  const { manifest } = await harness.readApp("main");
  const failure = await client.schemaPlan({ target: "main", manifest }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "database_unavailable" });
  expect(await client.health()).toMatchObject({ postgres: "down" });
  expect(readFileSync(join(harness.home, HOME_PATHS.daemonLog), "utf8")).not.toContain("s3cret");
});

test("stop ends daemon, PostgreSQL, services and workers and leaves no socket", { timeout: TIMEOUT }, async () => {
  const folders = runtimeFolders();
  const client = await harness.startDaemon();
  const served = await serveExample(client, await harness.readApp("main"));
  await insertUntilTaken(served.endpoint, "row");
  const daemon = harness.readDaemonFile();
  const running = [processOf(served), harness.findPostgres()].filter((one) => one !== undefined);
  const workers = childrenOf(served.pid ?? 0);
  expect(workers.length).toBeGreaterThan(0);
  expect((await client.health()).busy).toBeGreaterThan(0);
  await client.stop();
  await waitFor(() => !running.some(isAlive) && harness.findPostgres() === undefined);
  await waitFor(() => !workers.some((pid) => existsSync(`/proc/${pid}/cwd`)));
  await waitFor(() => harness.readDaemonFile() === undefined);
  expect(runtimeFolders()).toEqual(folders);
  await expect(createLocalClient({ port: daemon?.port ?? 0, token: "x" }).health()).rejects.toMatchObject({
    code: "daemon_not_running",
  });

  // what was served is served again, on its port
  const next = await harness.startDaemon();
  await insertUntilTaken(served.endpoint, "row after the stop");
  expect(await findService(next, "main/ingest")).toMatchObject({ port: served.port });
});

test("service stop, restart, logs and prune do what they say, unknown names are refused", {
  timeout: TIMEOUT,
}, async () => {
  const client = await harness.startDaemon();
  const app = await harness.readApp("main");
  const served = await serveExample(client, app);
  expect(await client.serviceStop("main/ingest")).toMatchObject({ state: "STOPPED", endpoint: null });
  expect((await client.servicePlan({ ...app, service: null, port: null })).in_agreement).toBe(false);
  expect(await client.serviceRestart("ingest")).toMatchObject({ state: "AVAILABLE", port: served.port });
  const lines: string[] = [];
  for await (const line of client.serviceLogs({ name: "main/ingest", tail: 50, follow: false })) lines.push(line);
  expect(lines.join("\n")).toContain("service listens");
  await expect(client.serviceStop("main/ingst")).rejects.toMatchObject({
    code: "service_not_found",
    hint: "Did you mean main/ingest?",
  });
  const without = { ...app, manifest: { ...app.manifest, services: [] } };
  expect(await client.servicePrune({ ...without, dry_run: true })).toMatchObject({
    ops: [{ name: "ingest", status: "skipped" }],
  });
  expect(await client.serviceList("main")).toHaveLength(1);
  expect(await client.servicePrune({ ...without, dry_run: false })).toMatchObject({
    ops: [{ name: "ingest", status: "applied" }],
  });
  expect(await client.serviceList("main")).toEqual([]);
});

test("a follower of a log sees lines as they come, until it goes away", { timeout: TIMEOUT }, async () => {
  const client = await harness.startDaemon();
  await serveExample(client, await harness.readApp("main"));
  const away = new AbortController();
  const seen: string[] = [];
  const following = (async () => {
    const request = { name: "main/ingest", tail: 0, follow: true };
    for await (const line of client.serviceLogs(request, { signal: away.signal })) {
      seen.push(line);
      if (line.includes("service listens")) away.abort();
    }
  })().catch(() => undefined);
  await waitFor(async () => (await client.health()).busy > 1);
  await client.serviceRestart("main/ingest");
  await following;
  expect(seen.some((line) => line.includes("service stops"))).toBe(true);
  await waitFor(async () => (await client.health()).busy === 1);
});

test("a taken port is refused by name before anything is changed", { timeout: TIMEOUT }, async () => {
  const client = await harness.startDaemon();
  const app = await harness.readApp("main");
  const served = await serveExample(client, app);
  const daemon_port = harness.readDaemonFile()?.port ?? 0;
  const request = { ...app, service: null, port: daemon_port, allow_destructive: false };
  await expect(client.serviceApply(request)).rejects.toMatchObject({
    code: "port_taken",
    message: expect.stringContaining(String(daemon_port)),
  });
  expect(await findService(client, "main/ingest")).toMatchObject({ pid: served.pid, port: served.port });
});

test("a service whose code cannot be imported is FAILED with the reason", { timeout: TIMEOUT }, async () => {
  const client = await harness.startDaemon();
  const app = await harness.readApp("main");
  await serveExample(client, app);
  const broken = { ...app, runtime: { ...app.runtime, python: join(harness.folder, "no-python") } };
  await expect(
    client.serviceApply({ ...broken, service: null, port: null, allow_destructive: false }),
  ).rejects.toMatchObject({ code: "service_failed", hint: "cli service logs main/ingest" });
  const failed = await findService(client, "main/ingest");
  expect(failed).toMatchObject({ state: "FAILED", pid: null });
  expect(failed.error).not.toBe("");
});

test("strangers, older commands and manifests that do not fit are turned away", { timeout: TIMEOUT }, async () => {
  const client = await harness.startDaemon();
  const { port } = harness.readDaemonFile() ?? { port: 0 };
  await expect(createLocalClient({ port, token: "wrong" }).health()).rejects.toMatchObject({ code: "unauthorized" });
  const token = readFileSync(join(harness.home, HOME_PATHS.token), "utf8").trim();
  const old = await fetch(`http://127.0.0.1:${port}/v1/health`, {
    headers: { authorization: `Bearer ${token}`, "x-client-version": "0.7.9" },
  });
  expect(old.status).toBe(426);
  expect(await old.json()).toMatchObject({ code: "client_too_old", hint: "pip install --upgrade 'appdb[serve]'" });
  const app = await harness.readApp("main");
  const newer = { ...app.manifest, manifest_version: 2 } as unknown as App["manifest"];
  await expect(client.schemaPlan({ target: "main", manifest: newer })).rejects.toMatchObject({
    code: "manifest_too_new",
  });
  const unknown = { ...app.manifest, surprise: 1 } as App["manifest"];
  await expect(client.schemaPlan({ target: "main", manifest: unknown })).rejects.toMatchObject({
    code: "manifest_invalid",
  });
  await expect(client.schemaPlan({ target: "no target!", manifest: app.manifest })).rejects.toMatchObject({
    code: "invalid_target",
  });
});

test("a home that is a file, and a setting that is none, end the daemon with one plain line", {
  timeout: TIMEOUT,
}, async () => {
  mkdirSync(join(harness.home, ".."), { recursive: true });
  writeFileSync(harness.home, "");
  expect(await failStart({})).toMatch(/^error: The home folder .* cannot be written: .*\nhint: Set SERVICE_HOME/);
  expect(
    await failStart({ SERVICE_HOME: join(harness.folder, "home"), SERVICE_LOCAL_DATABASE_URL: "mysql://x" }),
  ).toMatch(/^error: SERVICE_LOCAL_DATABASE_URL is no PostgreSQL address/);
  expect(await failStart({ SERVICE_WORKERS: "many" })).toMatch(
    /^error: The environment is not valid: SERVICE_WORKERS: /,
  );
});

async function failStart(env: Record<string, string>): Promise<string> {
  const child = harness.spawnDaemon(env);
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString("utf8");
  });
  await once(child, "close");
  expect(child.exitCode).toBe(1);
  return said;
}

function childrenOf(pid: number): number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  return readFileSync(path, "utf8")
    .trim()
    .split(" ")
    .filter((text) => text !== "")
    .map(Number);
}
