import { type ChildProcess, execFile, fork } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import { localMediaPlace } from "@appdb/contract/media-place";
import {
  DEFAULT_LIMITS,
  type ServiceMessage,
  type ServiceSpec,
  serviceMessageSchema,
} from "@appdb/contract/service-spec";
import { ensureCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { applySchema } from "@appdb/engine/schema/apply-schema";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { builtProgram } from "@appdb/testkit/built-programs";
import { eventually } from "@appdb/testkit/eventually";
import { findCheckout } from "@appdb/testkit/postgres-binaries";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { startTestPostgres } from "@appdb/testkit/test-postgres";
import { afterEach, beforeEach, expect, test } from "vitest";

const APP = `
import os, time
import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

Base = db.model_base()

@db.udf
def judge(text: str, n: int) -> int:
    if text == "raise":
        raise ValueError(f"no {n}")
    if text == "wrong":
        return "seven"
    if text == "print":
        print("hello from a function")
    if text == "exit":
        os._exit(3)
    if text == "loop":
        print("it loops")
        while True:
            pass
    if text == "grow":
        kept = []
        while True:
            kept.append(bytearray(4_000_000))
    if text == "env":
        return int(os.environ["ANSWER"])
    return n * 2

class Words(Base, name="words"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.String
    n: db.Int
    loud = upper(text)
    half = n // (n - 5)
    result = judge(text, n)

class Keys(Base, name="keys"):
    key = db.Column(type=db.String, primary_key=True)
    value: db.Int | None

ingest = Router()
ingest.add_insert_route(Words, path="/words", inputs=[Words.text, Words.n], outputs=[Words.loud, Words.half, Words.result])
ingest.add_compute_route(Words, path="/judge", inputs=[Words.text, Words.n], outputs=[Words.result])
ingest.add_insert_route(Keys, path="/keys", inputs=[Keys.key, Keys.value], outputs=[Keys.key])
`;

const checkout = findCheckout(import.meta.dirname);
const python = join(checkout, ".tools", "bin", "python");
let folder: string;
let undo: (() => Promise<void>)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-service-"));
  undo = [];
  writeFileSync(join(folder, "app.py"), APP);
  writeFileSync(join(folder, "service.toml"), "");
});

afterEach(async () => {
  for (const step of undo.reverse()) await step();
  rmSync(folder, { recursive: true, force: true });
});

async function readManifest(): Promise<Manifest> {
  const env = { PATH: process.env.PATH, PYTHONPATH: join(checkout, "python"), PYTHONDONTWRITEBYTECODE: "1" };
  const { stdout } = await promisify(execFile)(python, ["-m", "appdb.manifest", "app.py"], { cwd: folder, env });
  return manifestSchema.parse(JSON.parse(stdout));
}

async function specFor(dsn: string, parts: Partial<ServiceSpec> = {}): Promise<ServiceSpec> {
  const manifest = await readManifest();
  await using sql = createPgPool({ dsn, max: 1, application_name: "service test" });
  await ensureCatalog(sql, readCatalogMigrations());
  const { version } = await loadCatalog(sql);
  await applySchema(
    { sql, clock: { now: Date.now }, log: createSilentLog() },
    { manifest, target: "main", catalog_version: version, allow_destructive: false, runtime_id: "r1" },
  );
  return {
    dsn,
    target: "main",
    manifest,
    services: ["ingest"],
    host: "127.0.0.1",
    port: 0,
    media: localMediaPlace(join(folder, "media"), {}),
    runtime: {
      python,
      python_source: "--python",
      project_root: folder,
      library_paths: [join(checkout, "python")],
      env: { PATH: process.env.PATH ?? "", ANSWER: "42", PYTHONDONTWRITEBYTECODE: "1" },
    },
    limits: { ...DEFAULT_LIMITS, function_timeout_ms: 3_000, worker_memory_mb: 100 },
    ...parts,
  };
}

async function testDsn(): Promise<string> {
  const database = await createTestDatabase();
  undo.push(() => database.drop());
  return database.dsn;
}

interface Started {
  readonly child: ChildProcess;
  readonly message: ServiceMessage;
  readonly output: () => string;
  readonly exit: Promise<number | null>;
  readonly post: (path: string, body: unknown) => Promise<{ status: number; json: Record<string, unknown> }>;
  readonly url: string;
}

async function start(spec: ServiceSpec): Promise<Started> {
  const file = join(folder, "spec.json");
  writeFileSync(file, JSON.stringify(spec), { mode: 0o600 });
  const child = fork(builtProgram("pod"), ["service", file], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    cwd: checkout,
  });
  let output = "";
  child.stdout?.on("data", (data) => (output += data));
  child.stderr?.on("data", (data) => (output += data));
  const exit = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  undo.push(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  const message = await new Promise<ServiceMessage>((resolve, reject) => {
    child.once("message", (said) => resolve(serviceMessageSchema.parse(said)));
    child.once("disconnect", () => reject(new Error(`it ended without a word: ${output}`)));
  });
  expect(existsSync(file)).toBe(false);
  const url = message.event === "listening" ? `http://${message.address}:${message.port}` : "";
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  };
  return { child, message, output: () => output, exit, post, url };
}

async function rows(dsn: string, text: string) {
  await using sql = createPgPool({ dsn, max: 1, application_name: "service test" });
  return (await sql.query({ text })).rows;
}

test("computes, stores and answers with the given environment", async () => {
  const dsn = await testDsn();
  const { post } = await start(await specFor(dsn));
  expect(await post("/words", { text: "straße", n: 7 })).toEqual({
    status: 200,
    json: { loud: "STRASSE", half: 3, result: 14 },
  });
  expect((await post("/judge", { text: "env", n: 1 })).json).toEqual({ result: 42 });
  expect(await rows(dsn, "select text, n, loud, half, result, _errors from words")).toEqual([
    ["straße", "7", "STRASSE", "3", "14", null],
  ]);
});

/** No column calls a function, so only answers need Python. */
const CARDS = `
import appdb as db
from appdb.serving import Router

class Cards(db.model_base(), name="cards"):
    key = db.Column(type=db.String, primary_key=True)
    value: db.Int | None

ingest = Router()

@ingest.insert_route(Cards, path="/cards")
async def made(*, key: str, value: int | None) -> dict:
    return {"made": key, "from": __name__, "value": value / 2}

ingest.add_update_route(Cards, path="/cards/change")
ingest.add_delete_route(Cards, path="/cards/drop")
`;

test("a function makes an answer, and return=minimal has no body", async () => {
  const dsn = await testDsn();
  writeFileSync(join(folder, "app.py"), CARDS);
  const { post, url } = await start(await specFor(dsn));
  const made = await post("/cards", { key: "a", value: 3 });
  expect(made).toEqual({ status: 200, json: { made: "a", from: "app", value: 1.5 } });
  expect(await post("/cards", { key: "b" })).toMatchObject({ status: 400, json: { code: "function_failed" } });
  const change = await fetch(`${url}/cards/change`, {
    method: "POST",
    headers: { "content-type": "application/json", prefer: "return=minimal" },
    body: JSON.stringify({ key: "a", value: null }),
  });
  expect([change.status, await change.text()]).toEqual([204, ""]);
  expect(change.headers.get("preference-applied")).toBe("return=minimal");
  expect([change.headers.get("content-length"), change.headers.get("content-type")]).toEqual([null, null]);
  expect(await rows(dsn, "select key, value from cards")).toEqual([["a", null]]);
  expect(await post("/cards/drop", { key: "a" })).toEqual({ status: 200, json: { num_rows: 1 } });
});

test("a function that raises, exits, hangs or leaks fails only its request", async () => {
  const dsn = await testDsn();
  const { post, output } = await start(await specFor(dsn));
  const bad = ["raise", "wrong", "exit", "loop", "grow"];
  const sent = [...bad, "print", ...Array.from({ length: 40 }, (_, index) => `good ${index}`)];
  const answers = await Promise.all(sent.map((text, index) => post("/words", { text, n: index + 10 })));
  const byText = new Map(sent.map((text, index) => [text, answers[index]]));
  expect(byText.get("raise")).toMatchObject({
    status: 400,
    json: {
      code: "function_failed",
      meta: { function: "app:judge", column: "result", type: "ValueError", message: "no 10" },
    },
  });
  expect(byText.get("wrong")).toMatchObject({
    status: 400,
    json: { code: "function_failed", meta: { function: "app:judge", column: "result" } },
  });
  expect(byText.get("exit")).toMatchObject({ status: 400, json: { code: "worker_died" } });
  expect(byText.get("loop")).toMatchObject({ status: 400, json: { code: "function_timeout" } });
  expect(byText.get("grow")).toMatchObject({ status: 400, json: { code: "worker_out_of_memory" } });
  for (const [text, answer] of byText) {
    if (!bad.includes(text)) expect({ text, status: answer?.status }).toEqual({ text, status: 200 });
  }
  expect(await rows(dsn, "select count(*) from words")).toEqual([["41"]]);
  expect(await rows(dsn, `select count(*) from words where text in ('${bad.join("','")}')`)).toEqual([["0"]]);
  await eventually(() => {
    const lines = output().split("\n").slice(0, -1);
    const printed = lines.flatMap((line) => (line.includes('"msg":"output"') ? [JSON.parse(line).line] : []));
    expect(printed).toContain("hello from a function");
  });
});

test("the project's number of workers overrides the default", async () => {
  const spec = await specFor(await testDsn());
  const { url } = await start({ ...spec, runtime: { ...spec.runtime, workers: 2 } });
  expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^appdb_workers 2$/m);
});

test("a division by zero in a column has one error kind everywhere", async () => {
  const dsn = await testDsn();
  const { post } = await start(await specFor(dsn));
  const answer = await post("/words", { text: "x", n: 5 });
  expect(answer).toMatchObject({
    status: 400,
    json: {
      code: "function_failed",
      detail: "Column words.half: n // (n - 5) raised ZeroDivisionError: integer division or modulo by zero",
      meta: { column: "half", function: "op.floordiv", type: "ZeroDivisionError" },
    },
  });
  expect(await rows(dsn, "select count(*) from words")).toEqual([["0"]]);
});

test("a stopped service finishes its requests and exits with 0", async () => {
  const { child, post, exit, output } = await start(await specFor(await testDsn()));
  const running = post("/words", { text: "loop", n: 1 });
  await eventually(() => expect(output()).toContain("it loops"));
  child.kill("SIGTERM");
  expect((await running).json.code).toBe("function_timeout");
  expect(await exit).toBe(0);
});

test("a service ends when its starter is gone", async () => {
  const { child, exit } = await start(await specFor(await testDsn()));
  child.disconnect();
  expect(await exit).toBe(0);
});

test("a service that cannot run reports the reason", async () => {
  const dsn = await testDsn();
  const spec = await specFor(dsn);
  const { message, url, child } = await start(spec);
  expect(message.event).toBe("listening");
  const taken = await start({ ...spec, port: Number(new URL(url).port) });
  expect(taken.message).toMatchObject({ event: "failed", problem: { code: "port_taken" } });
  expect(await taken.exit).toBe(1);
  child.kill("SIGTERM");
  const empty = await start({ ...spec, dsn: await testDsn() });
  expect(empty.message).toMatchObject({
    event: "failed",
    problem: { code: "schema_mismatch", hint: expect.stringContaining("cli service update app.py main") },
  });
  writeFileSync(join(folder, "app.py"), "raise RuntimeError('broken on import')\n");
  const partly = await start(spec);
  expect(partly.message.event).toBe("listening");
  expect(await partly.post("/keys", { key: "k", value: 1 })).toMatchObject({ status: 200 });
  expect((await partly.post("/words", { text: "x", n: 1 })).json).toMatchObject({
    code: "worker_unavailable",
    detail: expect.stringContaining("broken on import"),
  });
  const services = spec.manifest.services.map((service) => ({
    ...service,
    routes: service.routes.filter((route) => route.path === "/words"),
  }));
  const broken = await start({ ...spec, manifest: { ...spec.manifest, services } });
  expect(broken.message).toMatchObject({
    event: "failed",
    problem: { code: "worker_unavailable", detail: expect.stringContaining("broken on import") },
  });
});

test("recovers from PostgreSQL killed under load with correct answers", async () => {
  const server = await startTestPostgres();
  undo.push(async () => await server[Symbol.asyncDispose]());
  const spec = await specFor(server.dsn);
  const { post } = await start(spec);
  const acknowledged: string[] = [];
  const statuses = new Map<number, number>();
  let isRunning = true;
  const client = async (name: number): Promise<void> => {
    for (let count = 0; isRunning; count++) {
      const key = `${name}-${count}`;
      const { status, json } = await post("/keys", { key, value: count });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) acknowledged.push(key);
      else expect(["database_unavailable", "commit_unknown"]).toContain(json.code);
    }
  };
  const clients = Promise.all(Array.from({ length: 8 }, (_, name) => client(name)));
  for (let kill = 0; kill < 3; kill++) {
    await sleep(300);
    const before = statuses.get(503) ?? 0;
    await server.kill();
    await eventually(() => expect(statuses.get(503) ?? 0).toBeGreaterThan(before));
    await server.start();
    await eventually(async () => expect((await post("/keys", { key: `probe-${kill}` })).status).toBe(200));
  }
  isRunning = false;
  await clients;
  const stored = new Set((await rows(server.dsn, "select key from keys")).map(([key]) => key));
  expect(acknowledged.filter((key) => !stored.has(key))).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(50);
});
