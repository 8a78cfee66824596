import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLocalClient } from "@appdb/contract/clients/local-client";
import { HOME_PATHS } from "@appdb/contract/home";
import { withClient } from "@appdb/postgres/cluster/database-admin";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import { clusterDsn } from "@appdb/testkit/cluster-dsn";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findService, insertUntilTaken, serveExample } from "../testing/example-service.ts";
import { hasEnded, openTestHome, processOf, type TestHome, waitFor } from "../testing/test-home.ts";

const TIMEOUT = 180_000;
let tested: TestHome;

beforeEach(() => {
  tested = openTestHome();
});

afterEach(async () => {
  await tested[Symbol.asyncDispose]();
}, TIMEOUT);

/** An application with a route for the rows of `insertDoc`. */
function makeApp(more: string): string {
  return `import time

import appdb as db
from appdb.serving import Router

Base = db.model_base()


@db.udf
def slow_length(text: str) -> int:
    time.sleep(0.5)
    return len(text)


class Docs(Base, name="docs"):
    title: db.String
    body: db.String
${more}

ingest = Router("ingest")
ingest.add_insert_route(Docs, path="/docs", inputs=[Docs.title, Docs.body], outputs=[Docs.title])
`;
}

test("of twenty daemons started at once one stays and all starters find it", { timeout: TIMEOUT }, async () => {
  const starters = Array.from({ length: 20 }, () => tested.spawnDaemon());
  await waitFor(() => starters.filter((child) => !hasEnded(child)).length === 1, 60_000);
  const winner = starters.find((child) => !hasEnded(child));
  expect(starters.filter((child) => child !== winner).map((child) => child.exitCode)).toEqual(Array(19).fill(0));
  const health = await tested.client().call("health", {});
  expect(health).toMatchObject({ pid: winner?.pid, services: 0 });
});

test("a daemon is refused on a copy of a home in use, and its services stay", { timeout: TIMEOUT }, async () => {
  const client = await tested.startDaemon();
  const service = await serveExample(client, await tested.readApp("main"));
  const copy = join(tested.folder, "copy");
  cpSync(tested.home, copy, { recursive: true, filter: (path) => !path.endsWith("postgres") });
  const second = tested.spawnDaemon({ SERVICE_HOME: copy });
  let said = "";
  second.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  const [code] = await once(second, "exit");
  expect([code, said]).toEqual([1, expect.stringContaining(`SERVICE_HOME='${tested.home}' cli daemon stop`)]);
  expect(await findService(client, "main/ingest")).toMatchObject({ pid: service.pid, state: "AVAILABLE" });
});

test("keeps every row after kills of PostgreSQL, a service and the daemon", {
  timeout: TIMEOUT,
}, async () => {
  let client = await tested.startDaemon();
  const app = await tested.readApp("main");
  const served = await serveExample(client, app);
  await insertUntilTaken(served.endpoint, "first");

  const postgres = tested.findPostgres();
  process.kill(postgres?.pid ?? 0, "SIGKILL");
  // its backends may accept a row before they notice
  await waitFor(() => tested.findPostgres()?.pid !== postgres?.pid);
  await insertUntilTaken(served.endpoint, "second");

  process.kill(processOf(await findService(client, "main/ingest")).pid, "SIGKILL");
  await insertUntilTaken(served.endpoint, "third");

  const before = await findService(client, "main/ingest");
  const left: ProcessIdentity[] = [processOf(before), tested.findPostgres()].filter((one) => one !== undefined);
  process.kill(tested.readDaemonFile()?.pid ?? 0, "SIGKILL");
  client = await tested.startDaemon();
  // with nothing to change, the update still waits until the service is available
  const applied = (
    await client.call("serviceApply", { body: { ...app, service: null, port: null, allow_destructive: false } })
  ).plan;
  expect(applied.services).toMatchObject([{ resolution: "up_to_date", state: "AVAILABLE" }]);
  await insertUntilTaken(served.endpoint, "fourth");
  expect(left.filter(isProcessAlive)).toEqual([]);
  expect(await findService(client, "main/ingest")).toMatchObject({ state: "AVAILABLE", port: served.port });
});

test("fills a new Python column although the daemon is killed meanwhile", {
  timeout: TIMEOUT,
}, async () => {
  const write = (more: string) => writeFileSync(join(tested.project_root, "app.py"), makeApp(more));
  write("");
  let client = await tested.startDaemon();
  const served = await serveExample(client, await tested.readApp("main"));
  for (const title of ["one", "two", "three", "four"]) await insertUntilTaken(served.endpoint, title);

  write("    length = slow_length(title)\n");
  const app = await tested.readApp("main");
  const { catalog_version: catalogVersion, tables } = (
    await client.call("schemaPlan", {
      body: {
        target: "main",
        manifest: app.manifest,
      },
    })
  ).plan;
  expect(tables).toMatchObject([{ resolution: "update_additive" }]);
  const update = client
    .call("schemaApply", { body: { ...app, catalog_version: catalogVersion, allow_destructive: false } })
    .catch((error: unknown) => error);
  await waitFor(async () => (await client.call("health", {})).busy > 2);
  process.kill(tested.readDaemonFile()?.pid ?? 0, "SIGKILL");
  expect(await update).toMatchObject({ code: "daemon_failed" });

  client = await tested.startDaemon();
  await client.call("serviceApply", { body: { ...app, service: null, port: null, allow_destructive: true } });
  // after the fill, only the service keeps it busy
  await waitFor(async () => (await client.call("health", {})).busy === 1, 60_000);
  await insertUntilTaken(served.endpoint, "five!");
  const { dsn } = await client.call("openTarget", { body: { ...app, services: ["ingest"], pid: process.pid } });
  const lengths = await withClient(dsn, async (connection) => {
    const found = await connection.query<{ length: string }>("select length from docs order by length");
    return found.rows.map((row) => Number(row.length));
  });
  expect(lengths).toEqual([3, 3, 4, 5, 5]);
});

test("a daemon killed while creating its cluster does not block the next", {
  timeout: TIMEOUT,
}, async () => {
  const folder = join(tested.home, HOME_PATHS.postgres);
  const unfinished = () =>
    (existsSync(folder) ? readdirSync(folder) : []).filter((name) => name.startsWith("unfinished-"));
  const first = tested.spawnDaemon();
  await waitFor(() => unfinished().length > 0);
  first.kill("SIGKILL");
  const client = await tested.startDaemon();
  await waitFor(async () => (await client.call("health", {})).postgres === "up");
  await waitFor(() => unfinished().length === 0);
});

test("an external server serves tables and services and keeps running", { timeout: TIMEOUT }, async () => {
  await using other = openTestHome();
  const theirs = await other.startDaemon();
  const app = await tested.readApp("main");
  await theirs.call("schemaApply", { body: { ...app, catalog_version: 0, allow_destructive: false } });
  // of a role that may create databases
  const url = clusterDsn(join(other.home, "postgres"), "postgres");
  const client = await tested.startDaemon({ SERVICE_LOCAL_DATABASE_URL: url });
  const served = await serveExample(client, { ...app, target: "elsewhere" });
  await insertUntilTaken(served.endpoint, "Hello");
  expect(tested.findPostgres()).toBeUndefined();
  await client.call("stop", {});
  await waitFor(() => tested.readDaemonFile() === undefined);
  const again = await tested.startDaemon({ SERVICE_LOCAL_DATABASE_URL: url });
  expect(
    (await again.call("schemaPlan", { body: { target: "elsewhere", manifest: app.manifest } })).plan,
  ).toMatchObject({
    in_agreement: true,
  });
  expect(other.findPostgres()).toBeDefined();
});

test("each command reports an unresponsive external server", {
  timeout: TIMEOUT,
}, async () => {
  const client = await tested.startDaemon({ SERVICE_LOCAL_DATABASE_URL: "postgresql://me:s3cret@127.0.0.1:9/main" });
  const { manifest } = await tested.readApp("main");
  const planned = client.call("schemaPlan", { body: { target: "main", manifest } });
  const failure = await planned.catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "database_unavailable" });
  expect(await client.call("health", {})).toMatchObject({ postgres: "down" });
  expect(readFileSync(join(tested.home, HOME_PATHS.daemonLog), "utf8")).not.toContain("s3cret");
});

test("stop ends daemon, PostgreSQL, services and workers and leaves no socket", { timeout: TIMEOUT }, async () => {
  const client = await tested.startDaemon();
  const served = await serveExample(client, await tested.readApp("main"));
  await insertUntilTaken(served.endpoint, "row");
  const daemon = tested.readDaemonFile();
  const socketFolder = nameRuntimeFolder(realpathSync(tested.home), process.env.XDG_RUNTIME_DIR);
  expect(existsSync(socketFolder)).toBe(true);
  const running = [processOf(served), tested.findPostgres()].filter((one) => one !== undefined);
  const workers = childrenOf(served.pid ?? 0);
  expect(workers.length).toBeGreaterThan(0);
  expect((await client.call("health", {})).busy).toBeGreaterThan(0);
  expect(existsSync(join(tested.home, HOME_PATHS.postgres, "18", "format.json"))).toBe(true);
  await client.call("stop", {});
  await waitFor(() => !running.some(isProcessAlive) && tested.findPostgres() === undefined);
  await waitFor(() => !workers.some((pid) => existsSync(`/proc/${pid}/cwd`)));
  await waitFor(() => tested.readDaemonFile() === undefined);
  // the file is removed first, so that no command finds a stopping daemon; the process ends last
  await waitFor(() => !existsSync(`/proc/${daemon?.pid}/cwd`));
  expect(existsSync(socketFolder)).toBe(false);
  await expect(createLocalClient({ port: daemon?.port ?? 0, token: "x" }).call("health", {})).rejects.toMatchObject({
    code: "daemon_not_running",
  });

  // services return on their ports
  const next = await tested.startDaemon();
  await insertUntilTaken(served.endpoint, "row after the stop");
  expect(await findService(next, "main/ingest")).toMatchObject({ port: served.port });
});

test("a home that is a file and an invalid setting end the daemon", {
  timeout: TIMEOUT,
}, async () => {
  mkdirSync(join(tested.home, ".."), { recursive: true });
  writeFileSync(tested.home, "");
  expect(await failStart({})).toMatch(/^error: The home folder .* cannot be written: .*\nhint: Set SERVICE_HOME/);
  expect(
    await failStart({ SERVICE_HOME: join(tested.folder, "home"), SERVICE_LOCAL_DATABASE_URL: "mysql://x" }),
  ).toMatch(/^error: SERVICE_LOCAL_DATABASE_URL is not a valid PostgreSQL address/);
  expect(await failStart({ SERVICE_WORKERS: "many" })).toMatch(
    /^error: The environment is not valid: SERVICE_WORKERS: /,
  );
});

async function failStart(env: Record<string, string>): Promise<string> {
  const child = tested.spawnDaemon(env);
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

test("a daemon whose home was removed ends, and the next one works", {
  timeout: TIMEOUT,
}, async () => {
  const client = await tested.startDaemon();
  await serveExample(client, await tested.readApp("main"));
  const old = tested.readDaemonFile()?.pid ?? 0;
  const left = [processOf(await findService(client, "main/ingest")), tested.findPostgres()];
  // its PostgreSQL makes files meanwhile
  rmSync(tested.home, { recursive: true, force: true, maxRetries: 20 });
  const next = await tested.startDaemon();
  const served = await serveExample(next, await tested.readApp("main"));
  await waitFor(
    () => [identifyProcess(old), ...left].every((one) => one === undefined || !isProcessAlive(one)),
    30_000,
  );
  await insertUntilTaken(served.endpoint, "after");
  const postgres = tested.findPostgres();
  expect(await next.call("health", {})).toMatchObject({ postgres: "up", services: 1 });
  expect(tested.readDaemonFile()?.pid).not.toBe(old);
  expect(tested.findPostgres()).toEqual(postgres);
});
