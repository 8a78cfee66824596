import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { VERSION } from "@appdb/contract/version";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { withClient } from "@appdb/postgres/cluster/database-admin";
import { EmbeddedPostgres } from "@appdb/postgres/cluster/embedded-postgres";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { commandLine, isProcessAlive } from "@appdb/system/processes/process-identity";
import { clusterDsn } from "@appdb/testkit/cluster-dsn";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../testing/test-home.ts";
import { openTestPods, type StartedPod, type TestPods } from "../testing/test-pods.ts";

const TIMEOUT = 180_000;

const APP = `
import appdb as db
from texts.shorten import shorten

Base = db.model_base()


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    short = shorten(title)
`;
const SHORTEN = `
import appdb as db


@db.udf
def shorten(title: str) -> str:
    return title[:4] + "."
`;
const ADDED = `    long = lengthen(title)\n`;
const LENGTHEN = `
import time

import appdb as db


@db.udf
def lengthen(title: str) -> str:
    time.sleep(0.3)
    return title + "!"
`;

/** One database. The tests stop, kill and start its pod in turn. */
let pods: TestPods;
let pod: StartedPod;
let files: string;

beforeAll(async () => {
  pods = openTestPods();
  files = pods.putTree({ "app.py": APP, "texts/shorten.py": SHORTEN });
  pod = pods.start(await pods.spec());
  await pod.ready();
}, TIMEOUT);

afterAll(async () => {
  await pods[Symbol.asyncDispose]();
});

async function restart(): Promise<void> {
  pod = pods.start(await pods.spec());
  await pod.ready();
}

async function planned(
  digest: string,
): Promise<{ app_file: string; files: string; folders: []; catalog_version: number }> {
  const question = { app_file: "app.py", files: digest, folders: [] as [] };
  const { plan } = (await pod.ask("POST", "/v1/schema/plan", question)).json<{ plan: { catalog_version: number } }>();
  return { ...question, catalog_version: plan.catalog_version };
}

test("a new database stores rows of a schema with functions across restarts", {
  timeout: TIMEOUT,
}, async () => {
  const read = await pod.ask("POST", "/v1/manifest", { app_file: "app.py", files });
  expect(read.json()).toMatchObject({ imported: [{ path: "app.py" }, { path: "texts/shorten.py" }] });
  expect((await pod.ask("GET", "/v1/tables")).json()).toEqual({ tables: [], folders: [] });
  const { manifest } = read.json<{ manifest: object }>();
  const check = async () => (await pod.ask("POST", "/v1/schema/check", { manifest, folders: [] })).json();
  expect(await check()).toEqual({ hindrances: [{ table: "docs", reason: "table docs is missing" }] });
  const applied = await pod.ask("POST", "/v1/schema/apply", { ...(await planned(files)), allow_destructive: false });
  expect(applied.lines().at(-1)).toMatchObject({
    event: "done",
    plan: { target: "cloud://acme:main", tables: [{ path: "cloud://acme:main/docs" }], in_agreement: true },
  });
  expect(await check()).toEqual({ hindrances: [] });

  const change = async (asked: object) =>
    (await pod.ask("POST", "/v1/changes", { change: asked, files })).lines().at(-1);
  expect(await change({ change: "create_folder", folder: "reports" })).toMatchObject({ event: "done" });
  expect(await change({ change: "drop_table", table: "none" })).toMatchObject({
    event: "error",
    problem: { code: "table_not_found" },
  });
  const { definition } = (await pod.ask("GET", "/v1/tables/docs/definition")).json<{ definition: object }>();
  expect(await change({ change: "create_table", table: "reports/copy", definition })).toMatchObject({
    event: "done",
    plan: { tables: [{ path: "cloud://acme:main/reports/copy", status: "applied" }] },
  });
  expect((await pod.ask("GET", "/v1/history?limit=2")).json()).toMatchObject({
    entries: [
      { table: "reports/copy", changes: ["create table"] },
      { table: "reports", changes: ["add folder"] },
    ],
  });
  await change({ change: "drop_folder", folder: "reports", force: true });
  expect((await pod.ask("GET", "/v1/tables")).json()).toMatchObject({ folders: [] });

  const one = await pod.ask("POST", "/v1/tables/docs/rows", { id: 1, title: "The first" });
  expect([one.status, one.json()]).toEqual([200, { id: 1, title: "The first", short: "The ." }]);
  const lines = ["2", "3", "9007199254740993"].map((id) => `{"id":${id},"title":"Title ${id}"}\n`).join("");
  const many = await pod.ask("POST", "/v1/tables/docs/rows", lines, { "content-type": "application/x-ndjson" });
  expect([many.status, many.text.split("\n").length]).toEqual([200, 4]);
  const twice = await pod.ask("POST", "/v1/tables/docs/rows", { id: 1, title: "Again" });
  expect([twice.status, twice.json().code]).toEqual([409, "unique_violation"]);
  expect((await pod.ask("GET", "/v1/tables/docs")).json()).toMatchObject({
    path: "docs",
    rows: 4,
    errors: 0,
    columns: [{ name: "id", type: "Int", is_key: true }, { is_computed: false }, { value: "shorten(title)" }],
  });
  await pod.ask("POST", "/v1/stop");
  expect(await pod.ended()).toBe(0);

  await restart();
  const first = await pod.ask("GET", "/v1/tables/docs/rows?limit=3");
  // the newest first (in any order within a request), with all digits of large numbers
  expect(first.text).toContain('{"id":9007199254740993,"title":"Title 9007199254740993","short":"Titl."}');
  const { next, rows } = first.json<{ next: string; rows: { id: number }[] }>();
  expect(rows.map(({ id }) => Math.min(id, 4)).sort()).toEqual([2, 3, 4]);
  const second = await pod.ask("GET", `/v1/tables/docs/rows?limit=3&cursor=${next}`);
  expect(second.json()).toEqual({ rows: [{ id: 1, title: "The first", short: "The ." }], next: null });
  const more = await pod.ask("POST", "/v1/tables/docs/rows", { id: 5, title: "Later" });
  expect(more.json()).toEqual({ id: 5, title: "Later", short: "Late." });
});

test("refuses requests without the pod's token and keeps the socket private", async () => {
  for (const [method, path] of [
    ["GET", "/v1/health"],
    ["GET", "/v1/tables/docs/rows"],
    ["POST", "/v1/stop"],
    ["GET", "/nowhere"],
  ] as const) {
    const answer = await pod.ask(method, path, undefined, { authorization: "Bearer wrong" });
    expect([answer.status, answer.json().code]).toEqual([401, "unauthorized"]);
    expect(answer.text).not.toContain("acme");
  }
  const { run_folder: runFolder } = await pods.spec();
  expect(statSync(join(runFolder, "pod.sock")).mode & 0o777).toBe(0o600);
});

test("reports missing objects by their public names", async () => {
  const missing = await pod.ask("GET", "/v1/tables/reports%2Fdocs");
  expect(missing.json()).toMatchObject({ status: 404, detail: "Table cloud://acme:main/reports/docs does not exist." });
  const tree = await pod.ask("POST", "/v1/manifest", { app_file: "app.py", files: "0".repeat(64) });
  expect(tree.json()).toMatchObject({ code: "blobs_missing" });
  const broken = pods.putTree({ "app.py": "import appdb\nnonsense(" });
  const read = await pod.ask("POST", "/v1/manifest", { app_file: "app.py", files: broken });
  expect(read.json()).toMatchObject({ code: "app_invalid", meta: { source: { file: "app.py" } } });
  expect(read.text).not.toContain(pods.folder);
});

test("an application that signals its process group stops only itself", {
  timeout: TIMEOUT,
}, async () => {
  const signals = (name: string) => pods.putTree({ "app.py": `import os, signal\n\nos.kill(0, signal.${name})\n` });
  const ended = await pod.ask("POST", "/v1/manifest", { app_file: "app.py", files: signals("SIGTERM") });
  expect(ended.json()).toMatchObject({ code: "app_invalid", detail: expect.stringContaining("signal SIGTERM") });
  const asked = pod.ask("POST", "/v1/manifest", { app_file: "app.py", files: signals("SIGSTOP") });
  const stopped = () => pod.processes().find(({ pid }) => /^State:\tT/m.test(statusOf(pid)));
  await waitFor(() => stopped() !== undefined);
  expect((await pod.ask("GET", "/v1/health")).json()).toMatchObject({ state: "ready" });
  process.kill(stopped()?.pid ?? 0, "SIGKILL");
  expect((await asked).json()).toMatchObject({ code: "app_invalid", detail: expect.stringContaining("SIGKILL") });
});

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    // it has ended since it was listed
    return "";
  }
}

test("restarts killed PostgreSQL with all rows and reports it in health", {
  timeout: TIMEOUT,
}, async () => {
  const server = pod.processes().find(({ pid }) => /\/postgres /.test(commandLine(pid) ?? ""));
  process.kill(server?.pid ?? 0, "SIGKILL");
  await waitFor(async () => {
    const health = await pod.ask("GET", "/v1/health");
    return health.status === 503 && health.json().state === "starting";
  });
  await pod.ready();
  expect((await pod.ask("GET", "/v1/tables/docs")).json()).toMatchObject({ rows: 5 });
  const { metered } = (await pod.ask("GET", "/v1/health")).json<{ metered: { cpu_ms: number; awake_ms: number } }>();
  expect(metered.awake_ms).toBeGreaterThan(metered.cpu_ms / 16);
  // starting Node alone takes longer
  expect(metered.cpu_ms).toBeGreaterThan(50);
});

test("a full disk refuses writes, allows reads and recovers", {
  timeout: TIMEOUT,
}, async () => {
  const { data_folder: dataFolder } = await pods.spec();
  const filler = join(dataFolder, "filler");
  // blocks without contents: creating a file of this size is instant
  execFileSync("fallocate", ["-l", "900M", filler]);
  // a connection that closes after its answer would not receive the remaining lines
  const type = { "content-type": "application/x-ndjson", connection: "keep-alive" };
  const lines = new PassThrough();
  const { dsn } = (await pod.ask("POST", "/v1/service-roles", { role: "svc_0123456789ab" })).json<{ dsn: string }>();
  await using service = createPgPool({ dsn, max: 1, application_name: "appdb service test" });
  const direct = { text: "update docs set title = title where id = 1" };
  expect((await service.query(direct)).row_count).toBe(1);
  try {
    const stream = pod.ask("POST", "/v1/tables/docs/rows", lines, type);
    lines.write('{"id":100,"title":"before"}\n');
    await waitFor(async () => {
      // an unused database is rarely measured
      await pod.ask("GET", "/v1/tables/docs/rows?limit=1");
      return (await pod.ask("GET", "/v1/health")).json().is_disk_full === true;
    }, 45_000);
    const insert = await pod.ask("POST", "/v1/tables/docs/rows", { id: 6, title: "Too much" });
    expect(insert.json()).toMatchObject({ status: 507, code: "disk_full" });
    expect(insert.text).toMatch(/The disk of cloud:\/\/acme:main is full: 0\.9\d GB are used, disk_gb is 1\./);
    lines.end('{"id":101,"title":"after"}\n');
    expect((await stream).status).toBe(507);
    const apply = await pod.ask("POST", "/v1/schema/apply", { ...(await planned(files)), allow_destructive: false });
    expect(apply.status).toBe(507);
    // services bypass the pod's check
    await expect(service.query(direct)).rejects.toMatchObject({ code: "disk_full" });
    expect((await service.query({ text: "select count(*) from docs" })).rows).toEqual([["5"]]);
    expect((await pod.ask("GET", "/v1/tables/docs/rows?limit=1")).status).toBe(200);
  } finally {
    rmSync(filler);
  }
  await waitFor(async () => (await pod.ask("POST", "/v1/tables/docs/rows", { id: 6, title: "More" })).status === 200);
  await waitFor(() => service.query(direct).then(Boolean, () => false));
  // none of the lines in flight when the disk filled up is stored
  expect((await pod.ask("GET", "/v1/tables/docs")).json()).toMatchObject({ rows: 6 });
});

test("a fill that runs ends when the disk is full", { timeout: TIMEOUT }, async () => {
  const { data_folder: dataFolder } = await pods.spec();
  const filler = join(dataFolder, "filler");
  const app = APP.replace("import shorten", "import shorten\nfrom texts.lengthen import lengthen") + ADDED;
  // many quick batches, and in all more time than two measurements of the disk
  const quicker = LENGTHEN.replace("0.3", "0.04");
  const later = pods.putTree({ "app.py": app, "texts/shorten.py": SHORTEN, "texts/lengthen.py": quicker });
  const { dsn } = (await pod.ask("POST", "/v1/service-roles", { role: "svc_0123456789ab" })).json<{ dsn: string }>();
  await using service = createPgPool({ dsn, max: 1, application_name: "appdb service test" });
  await service.query({
    text: "insert into docs (_row, id, title) select uuidv7(), i, 'many' from generate_series(1000, 1999) i",
  });
  const apply = pod.ask("POST", "/v1/schema/apply", { ...(await planned(later)), allow_destructive: false });
  await waitFor(async () => /1 job/.test(String((await pod.ask("GET", "/v1/health")).json().busy)));
  execFileSync("fallocate", ["-l", "900M", filler]);
  try {
    const { text } = await apply;
    expect(text).toContain('"code":"disk_full"');
    expect(text).toMatch(/The fill of table docs ended after \d+ of 10\d\d rows: its new columns were dropped\./);
  } finally {
    rmSync(filler);
  }
  const remove = { text: "delete from docs where id between 1000 and 1999" };
  await waitFor(() => service.query(remove).then(Boolean, () => false), 45_000);
});

test("a killed pod leaves no process and the next continues its fill", {
  timeout: TIMEOUT,
}, async () => {
  const app = APP.replace("import shorten", "import shorten\nfrom texts.lengthen import lengthen") + ADDED;
  const later = pods.putTree({ "app.py": app, "texts/shorten.py": SHORTEN, "texts/lengthen.py": LENGTHEN });
  const apply = pod.ask("POST", "/v1/schema/apply", { ...(await planned(later)), allow_destructive: false });
  apply.catch(() => undefined);
  await waitFor(async () => /1 job/.test(String((await pod.ask("GET", "/v1/health")).json().busy)));
  await waitFor(() => pod.processes().some(({ pid }) => commandLine(pid)?.includes("appdb.worker") === true));
  const all = pod.processes();
  pod.child.kill("SIGKILL");
  await waitFor(() => !all.some(isProcessAlive));
  await restart();
  expect((await pod.ask("GET", "/v1/trees")).json()).toEqual({ trees: [later] });
  await waitFor(async () =>
    (await pod.ask("GET", "/v1/tables/docs/rows?limit=1")).text.includes(
      '{"id":6,"title":"More","short":"More.","long":"More!"}',
    ),
  );
});

test("a failed upgrade names the step and keeps rows and a copy", {
  timeout: TIMEOUT,
}, async () => {
  const {
    data_folder: dataFolder,
    run_folder: runFolder,
    postgres_bin: postgresBin,
    template_folder: templateFolder,
    log_folder: logFolder,
  } = await pods.spec();
  const dsn = clusterDsn(join(dataFolder, "postgres"), "main");
  const newest = readCatalogMigrations().length;
  // a database that claims the previous version's format but differs
  const forget = `delete from appdb.migrations where id = ${newest}`;
  await withClient(dsn, async (client) => void (await client.query(forget)));
  pod.child.kill("SIGTERM");
  expect(await pod.ended()).toBe(0);
  const folder = join(dataFolder, "postgres");
  const mark = join(folder, "18", "format.json");
  expect(JSON.parse(readFileSync(mark, "utf8"))).toEqual({ catalog: newest, version: VERSION });
  // and that was created before clusters were marked
  rmSync(mark);
  pod = pods.start(await pods.spec());
  expect(await pod.ended()).toBe(1);
  expect(pod.said()).toMatch(/error: Step \d+ of the upgrade to version \S+ failed: .*Nothing was changed\./);
  expect(readdirSync(join(folder, "before-upgrade"))).toEqual([VERSION]);

  // the previous version works with it
  const log = createSilentLog();
  const logFile = join(logFolder, "postgres.log");
  await using postgres = new EmbeddedPostgres({
    bin: postgresBin,
    folder,
    runtime_folder: runFolder,
    keeps_runtime_folder: true,
    log_file: logFile,
    log,
    template_folder: templateFolder,
  });
  await postgres.start();
  const restored = clusterDsn(folder, "main");
  const restore = `insert into appdb.migrations (id, breaking, product_version) values (${newest}, true, '${VERSION}')`;
  await withClient(restored, async (client) => void (await client.query(restore)));
  await postgres.stop();
  await restart();
  expect((await pod.ask("GET", "/v1/tables/docs")).json()).toMatchObject({ rows: 6 });
});

test("refuses data of a newer product or another PostgreSQL by name", { timeout: TIMEOUT }, async () => {
  const { data_folder: dataFolder } = await pods.spec();
  const dsn = clusterDsn(join(dataFolder, "postgres"), "main");
  const migration = "insert into appdb.migrations (id, breaking, product_version) values (9999, true, '99.1.0')";
  await withClient(dsn, async (client) => void (await client.query(migration)));
  // its function is slow: running requests end before the pod does
  const insert = pod.ask("POST", "/v1/tables/docs/rows", { id: 7, title: "Last" });
  await waitFor(async () => (await pod.ask("GET", "/v1/health")).json().busy === "1 request");
  pod.child.kill("SIGTERM");
  expect((await insert).json()).toEqual({ id: 7, title: "Last", short: "Last.", long: "Last!" });
  expect(await pod.ended()).toBe(0);
  pod = pods.start(await pods.spec());
  expect(await pod.ended()).toBe(1);
  expect(pod.said()).toContain("The database was written by version 99.1.0");

  const major = "18";
  writeFileSync(join(dataFolder, "postgres", major, "PG_VERSION"), "17\n");
  pod = pods.start(await pods.spec());
  expect(await pod.ended()).toBe(1);
  expect(pod.said()).toMatch(/The data was written by PostgreSQL 17, but this installation has PostgreSQL 18/);
  expect(readFileSync(join(pods.folder, "log", "pod.log"), "utf8")).not.toContain((await pods.spec()).token);
});

test("an invalid spec ends the pod with one line and creates nothing", { timeout: TIMEOUT }, async () => {
  const spec = await pods.spec({ data_folder: join(pods.folder, "other") });
  const wrong = pods.start(JSON.stringify({ ...spec, resources: { ...spec.resources, memory_mb: "lots" } }));
  const none = pods.start("hello");
  const launched = pods.start(spec, { SERVICE_POD_LAUNCHER: "bwrap" });
  expect(await Promise.all([wrong, none, launched].map((one) => one.ended()))).toEqual([1, 1, 1]);
  expect(wrong.said()).toContain("error: The pod's spec is invalid: resources.memory_mb: ");
  expect(none.said()).toContain("error: The pod's standard input is not a JSON document.");
  expect(launched.said()).toContain("error: SERVICE_POD_LAUNCHER is not a JSON array of strings.");
  expect(readdirSync(pods.folder)).not.toContain("other");
});

test("a pod whose home is removed ends with all its processes", {
  timeout: TIMEOUT,
}, async () => {
  await using other = openTestPods();
  const left = other.start(await other.spec());
  await left.ready();
  const processes = left.processes();
  expect(processes.length).toBeGreaterThan(3);
  // PostgreSQL makes files meanwhile
  rmSync(other.folder, { recursive: true, force: true, maxRetries: 20 });
  // orderly, or after its timeout when PostgreSQL's files are gone
  expect([0, 1]).toContain(await left.ended());
  await waitFor(() => processes.every((process) => !isProcessAlive(process)));
});
