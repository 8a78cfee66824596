import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ServicePodSpec } from "@appdb/contract/pod-spec";
import { LINK_VERSIONS } from "@appdb/pods/link/link";
import { withClient } from "@appdb/postgres/cluster/database-admin";
import { commandLine, isProcessAlive } from "@appdb/system/processes/process-identity";
import { eventually } from "@appdb/testkit/eventually";
import { startTraceCollector, type TraceCollector } from "@appdb/testkit/trace-collector";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../testing/test-home.ts";
import {
  openTestPods,
  type StartedPod,
  type StartedService,
  type TestKey,
  type TestPods,
} from "../testing/test-pods.ts";

const APP = `
import time

import appdb as db
from appdb.serving import Request, Router

Base = db.model_base()


@db.udf
def shorten(title: str) -> str:
    if title == "slow":
        time.sleep(5)
    if title == "a while":
        time.sleep(5)
    return title[:4] + "."


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    short = shorten(title)


ingest = Router()
ingest.add_insert_route(Docs, path="/docs", inputs=[Docs.id, Docs.title], outputs=[Docs.short])
ingest.add_insert_route(Docs, path="/later", inputs=[Docs.id, Docs.title], background=True)


@ingest.get("/headers")
def headers(request: Request) -> dict:
    return {name: value for name, value in request.headers.items() if "key" in name or "auth" in name}
`;

/** One database with, most of the time, one service. */
let pods: TestPods;
let traces: TraceCollector;
let database: StartedPod;
let pod: StartedService;
let spec: ServicePodSpec;
let good: TestKey;
let other: TestKey;

beforeAll(async () => {
  pods = openTestPods();
  database = pods.start(await pods.spec());
  await database.ready();
  const files = pods.putTree({ "app.py": APP });
  const question = { app_file: "app.py", files, folders: [] };
  const planned = await database.ask("POST", "/v1/schema/plan", question);
  const { catalog_version: catalogVersion } = planned.json<{ plan: { catalog_version: number } }>().plan;
  await database.ask("POST", "/v1/schema/apply", {
    ...question,
    catalog_version: catalogVersion,
    allow_destructive: false,
  });
  good = pods.key("goodgoodgood", ["access:cloud://acme:main/services/ingest"]);
  other = pods.key("otherotherot", ["access:cloud://acme:main/services/reports/ingest"]);
  traces = await startTraceCollector();
  const { runtime, ...rest } = await pods.serviceSpec(database, files, [good, other]);
  // settings that come from a database's variables and secrets
  spec = { ...rest, runtime: { ...runtime, env: { ...runtime.env, OTEL_EXPORTER_OTLP_ENDPOINT: traces.url } } };
  pod = pods.startService(spec);
  await pod.ready();
});

afterAll(async () => {
  await traces[Symbol.asyncDispose]();
  await pods[Symbol.asyncDispose]();
});

const insert = (row: object, headers: Record<string, string>) => pod.call("POST", "/docs", row, headers);
const shown = (key: TestKey) => ({ "x-api-key": key.text });

test("stores a row for a key with access in either header", async () => {
  const first = await insert({ id: 1, title: "The first" }, shown(good));
  expect([first.status, first.json()]).toEqual([200, { short: "The ." }]);
  const second = await insert({ id: 2, title: "Another" }, { authorization: `Bearer ${good.text}` });
  expect(second.json()).toEqual({ short: "Anot." });
  expect((await database.ask("GET", "/v1/tables/docs")).json()).toMatchObject({ rows: 2 });
  // the application's code does not get the key
  const seen = await pod.call("GET", "/headers", undefined, { ...shown(good), authorization: "Bearer of-the-app" });
  expect(seen.json()).toEqual({ authorization: "Bearer of-the-app" });
});

test("refuses requests without a valid key and reveals nothing", async () => {
  const cases: [Record<string, string>, number, string][] = [
    [{}, 401, "unauthorized"],
    [{ "x-api-key": "sk_wrong" }, 401, "unauthorized"],
    [{ "x-api-key": "sk_wrong", authorization: `Bearer ${good.text}` }, 401, "unauthorized"],
    [{ authorization: `Bearer ${spec.token}` }, 401, "unauthorized"],
    [shown(other), 403, "forbidden"],
  ];
  for (const [headers, status, code] of cases) {
    for (const [method, path] of [
      ["POST", "/docs"],
      ["GET", "/nowhere"],
      ["GET", "/openapi.json"],
    ] as const) {
      const body = method === "POST" ? { id: 3, title: "Never" } : undefined;
      const answer = await pod.call(method, path, body, headers);
      expect([answer.status, answer.json().code]).toEqual([status, code]);
    }
  }
  expect((await pod.call("GET", "/health")).json()).toMatchObject({ status: "ok" });
  // a browser sends a preflight request before the key
  const asked = { origin: "http://localhost:5173", "access-control-request-method": "POST" };
  expect((await pod.call("OPTIONS", "/docs", undefined, asked)).status).toBe(204);
  const described = await pod.call("GET", "/openapi.json", undefined, shown(good));
  expect(described.json()).toMatchObject({
    servers: [{ url: "/ingest" }],
    security: [{ ApiKey: [] }, { Bearer: [] }],
    components: { securitySchemes: { ApiKey: { type: "apiKey", in: "header", name: "X-api-key" } } },
  });
  expect((await pod.call("GET", "/metrics", undefined, shown(good))).status).toBe(404);
  expect((await database.ask("GET", "/v1/tables/docs")).json()).toMatchObject({ rows: 2 });
  expect(statSync(join(spec.run_folder, "http.sock")).mode & 0o777).toBe(0o600);
});

test("traces a request to its function when a collector is configured", async () => {
  const trace_id = "0af7651916cd43dd8448eb211c80319c";
  const headers = { ...shown(good), traceparent: `00-${trace_id}-b7ad6b7169203331-01` };
  expect((await insert({ id: 9, title: "Traced" }, headers)).status).toBe(200);
  const named = () => traces.spans.filter(({ traceId }) => traceId === trace_id);
  await eventually(() => expect(named().length).toBe(3));
  const request = named().find(({ parentSpanId }) => parentSpanId === "b7ad6b7169203331");
  expect(request).toMatchObject({ name: "POST /docs", service: "cloud://acme:main/ingest" });
  const below = named().filter(({ parentSpanId }) => parentSpanId === request?.spanId);
  expect(below.map(({ name }) => name).sort()).toEqual(["PostgreSQL", "Python shorten"]);
});

test("refuses a revoked key at once and ignores older snapshots", async () => {
  const push = (text: string, headers = {}) =>
    pod.ask("PUT", "/v1/keys", text, { "content-type": "text/plain", ...headers });
  expect((await push(pods.snapshot(2, [good, other]), { authorization: "Bearer x" })).status).toBe(401);
  expect((await push(pods.snapshot(2, [other]))).status).toBe(204);
  expect((await insert({ id: 3, title: "Never" }, shown(good))).status).toBe(401);
  for (const stale of [pods.snapshot(1, [good]), `${pods.snapshot(9, [good])}x`, ""]) {
    const answer = await push(stale);
    expect([answer.status, answer.json().code]).toEqual([409, "keys_refused"]);
  }
  expect((await insert({ id: 3, title: "Never" }, shown(good))).status).toBe(401);
  expect((await push(pods.snapshot(3, [good, other]))).status).toBe(204);
});

test("keeps request ids in log and metrics and never logs a key", async () => {
  const answer = await insert({ id: 3, title: "Third" }, { ...shown(good), "x-request-id": "from-the-gateway" });
  expect(answer.status).toBe(200);
  const refused = await insert({ id: 3, title: "Third" }, { ...shown(good), "x-request-id": "twice" });
  expect(refused.json()).toMatchObject({ code: "unique_violation", instance: "twice" });
  await pod.call("GET", "/health", undefined, { "x-request-id": "only-health" });
  const log = () => readFileSync(join(pods.service_log_folder, "pod.log"), "utf8");
  await waitFor(() => log().includes("only-health"));
  const lines = log()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === "request");
  const of = (id: string) => lines.find(({ req }) => req === id);
  expect(of("from-the-gateway")).toMatchObject({ method: "POST", route: "/docs", status: 200, key: good.entry.name });
  expect(of("from-the-gateway").ms).toBeGreaterThan(0);
  expect(of("twice")).toMatchObject({ status: 409 });
  expect(of("only-health")).toMatchObject({ status: 200, health: true });
  for (const secret of [good.text, other.text, spec.token]) expect(log()).not.toContain(secret);
  const metrics = (await pod.ask("GET", "/v1/metrics")).text;
  expect(metrics).toContain('appdb_requests_total{method="POST",route="/docs",status="409"} 1');
  expect(metrics).toMatch(/appdb_request_seconds_bucket\{le="30",method="POST",route="\/docs"\} [1-9]/);
  expect(metrics).toMatch(/^appdb_function_calls_total\{function="app:shorten"\} [1-9]/m);
  expect(metrics).not.toMatch(/acme|ingest"/);
});

test("survives a PostgreSQL outage and asks clients to retry", async () => {
  const server = database.processes().find(({ pid }) => /\/postgres /.test(commandLine(pid) ?? ""));
  // it is not restarted before the outage was detected
  process.kill(database.child.pid ?? 0, "SIGSTOP");
  try {
    process.kill(server?.pid ?? 0, "SIGKILL");
    await waitFor(async () => {
      const answer = await insert({ id: 4, title: "Fourth" }, shown(good));
      return answer.status === 503 && answer.json().code === "database_unavailable";
    });
    const health = await pod.ask("GET", "/v1/health");
    expect([health.status, health.json().link_versions]).toEqual([200, LINK_VERSIONS]);
  } finally {
    process.kill(database.child.pid ?? 0, "SIGCONT");
  }
  await waitFor(async () => [200, 409].includes((await insert({ id: 4, title: "Fourth" }, shown(good))).status));
});

test("only background jobs of a service keep the database awake", async () => {
  expect((await database.ask("POST", "/v1/service-roles", { role: "svc_0123456789ab" })).json()).toEqual({
    dsn: spec.dsn,
  });
  await insert({ id: 5, title: "Fifth" }, shown(good));
  const busy = async () => (await database.ask("GET", "/v1/health")).json().busy;
  await waitFor(async () => (await busy()) === null);
  expect((await pod.call("POST", "/later", { id: 9, title: "a while" }, shown(good))).status).toBe(200);
  // new connections have no name yet
  expect(await busy()).toMatch(/^(\d connections?, )?1 background job$/);
  await waitFor(async () => (await busy()) === null);
  for (const role of ["postgres", "svc_1; drop table docs", "svc_0123456789AB"]) {
    expect((await database.ask("POST", "/v1/service-roles", { role })).json()).toMatchObject({
      code: "invalid_request",
    });
  }
});

test("drops a service's role repeatedly and keeps its objects", async () => {
  const dsnOf = async (role: string) =>
    (await database.ask("POST", "/v1/service-roles", { role })).json<{ dsn: string }>().dsn;
  const gone = "svc_ffffffffffff";
  await withClient(await dsnOf(gone), (client) => client.query("set role none; create table made_by_it (n int)"));
  for (const _ of [1, 2]) expect((await database.ask("DELETE", `/v1/service-roles/${gone}`)).status).toBe(204);
  expect((await database.ask("DELETE", "/v1/service-roles/postgres")).json()).toMatchObject({
    code: "invalid_request",
  });
  await withClient(spec.dsn, async (client) => {
    const { rows } = await client.query(`select rolname from pg_roles where rolname like 'svc%'`);
    expect(rows).toEqual([{ rolname: "svc_0123456789ab" }]);
    await client.query("drop table made_by_it");
  });
});

test("a draining pod answers running and late requests and then ends", async () => {
  const slow = insert({ id: 6, title: "slow" }, shown(good));
  await waitFor(async () => (await pod.ask("GET", "/v1/health")).json().in_flight === 1);
  expect((await pod.ask("POST", "/v1/drain")).status).toBe(200);
  expect((await pod.ask("GET", "/v1/health")).json()).toMatchObject({ state: "draining" });
  expect((await insert({ id: 7, title: "Late" }, shown(good))).status).toBe(200);
  expect((await slow).json()).toEqual({ short: "slow." });
  expect(await pod.ended()).toBe(0);
  expect((await database.ask("GET", "/v1/tables/docs")).json()).toMatchObject({ rows: 8 });
});

test("a killed pod leaves no process and another takes its place", async () => {
  pod = pods.startService(spec);
  await pod.ready();
  const all = pod.processes();
  expect(all.some(({ pid }) => commandLine(pid)?.includes("appdb.worker") === true)).toBe(true);
  pod.child.kill("SIGKILL");
  await waitFor(() => !all.some(isProcessAlive));
  pod = pods.startService({ ...spec, keys: { ...spec.keys, snapshot: "" } });
  await pod.ready();
  const answer = await insert({ id: 8, title: "Eighth" }, shown(good));
  expect([answer.status, answer.json().code]).toEqual([503, "keys_unavailable"]);
  pod.child.kill("SIGTERM");
  expect(await pod.ended()).toBe(0);
});
