import type { Manifest, ManifestBackground, ManifestRoute } from "@appdb/contract/manifest";
import type { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { eventually } from "@appdb/testkit/eventually";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  aRowRoute,
  aTable,
  aUuid7Key,
  col,
  udf,
} from "@appdb/testkit/manifest-builder";
import { type AnsweredJson, openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Endpoints } from "../endpoints/open-endpoints.ts";
import type { UdfRunner } from "../ports.ts";
import { cancelJob, listJobs } from "./list-jobs.ts";

let catalog: TestCatalog;
let now: number;
let stops: (() => Promise<void>)[] = [];

const source = { file: "app.py", line: 9 };
const background: ManifestBackground = { attempts: 1, expires_s: 600 };

const ROUTES: ManifestRoute[] = [
  { ...aRowRoute("rides", ["km"], ["id", "fare"]), background },
  { ...aRowRoute("rides", ["km"], ["fare"], { path: "/patient" }), background: { attempts: 3, expires_s: 600 } },
  { ...aRowRoute("rides", ["km"], ["fare"], { path: "/fare", kind: "compute" }), background },
  {
    kind: "update",
    method: "post",
    path: "/items/update",
    table: "items",
    key: ["sku"],
    inputs: ["n"],
    outputs: ["sku", "n"],
    on_error: "abort",
    handler: null,
    background,
    source,
  },
  { kind: "delete", method: "post", path: "/items/delete", table: "items", match_columns: ["sku"], background, source },
];

const MANIFEST: Manifest = aManifest({
  tables: [
    aTable("rides", [
      aUuid7Key(),
      aColumn("km", "int"),
      aComputed("fare", udf("udfs:fare", "float", col("km", "int"))),
    ]),
    aTable("items", [aColumn("sku", "string", { primary_key: true }), aColumn("n", "int")]),
  ],
  functions: [aFunction("udfs:fare", "float")],
  services: [{ name: "api", prefix: "/v1", source, routes: ROUTES }],
});

beforeEach(async () => {
  now = Date.now();
  catalog = await openTestCatalog({ clock: { now: () => now } });
  catalog.steps.fare = (row) => Number(row.km) * 2;
  stops = [];
  await catalog.apply(MANIFEST);
});

afterEach(async () => {
  for (const stop of stops) await stop();
  await catalog[Symbol.asyncDispose]();
});

interface Process {
  readonly endpoints: Endpoints;
  post(path: string, body: unknown, key?: string, headers?: Readonly<Record<string, string>>): Promise<AnsweredJson>;
  job(id: string, method?: "GET" | "DELETE"): Promise<AnsweredJson>;
  /** Starts to run jobs. */
  work(): { readonly stop: () => Promise<void> };
}

/** Serves like one process. No jobs run before `work`. */
async function serve(limits: Partial<typeof DEFAULT_LIMITS> = {}): Promise<Process> {
  const runner = endingWithTheirSignal(catalog.udf);
  const { endpoints, send } = await catalog.serve(MANIFEST, { deps: { udf: () => runner }, limits });
  const ask = async (method: string, path: string, body: string, headers: Record<string, string>, id = "") => {
    const route = { method, scheme: "http", host: "", path, root_path: "", params: { id }, client: null } as const;
    const answer = await send(path, { body, headers: { host: "here:80", ...headers }, route }, method);
    return { ...answer, json: JSON.parse(answer.text) };
  };
  return {
    endpoints,
    post: (path, body, key, headers = {}) =>
      ask("POST", `/v1${path}`, JSON.stringify(body), {
        ...headers,
        ...(key === undefined ? {} : { "idempotency-key": key }),
      }),
    job: (id, method = "GET") => ask(method, "/_jobs/{id}", "", {}, id),
    work() {
      const stopping = new AbortController();
      const running = endpoints.background(`process ${stops.length}`)?.run(stopping.signal, 100);
      const stop = async () => {
        stopping.abort();
        await running;
      };
      stops.push(stop);
      return { stop };
    },
  };
}

/** Like Python workers: a call ends with its signal. */
function endingWithTheirSignal(runner: UdfRunner): UdfRunner {
  return {
    ...runner,
    run: (graph, row, signal) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        runner.run(graph, row, signal).then(resolve, reject);
      }),
  };
}

async function ended(process: Process, id: string): Promise<AnsweredJson["json"]> {
  return await eventually(async () => {
    const { json } = await process.job(id);
    expect(json.status).not.toBe("pending");
    return json;
  });
}

function count(table: string): Promise<number> {
  return catalog.count(table);
}

test("a background insert returns a pending job that later has the result", async () => {
  const api = await serve();
  const sent = await api.post("/rides", { km: 4 });
  expect(sent).toMatchObject({ status: 200, json: { job_url: `http://here:80/_jobs/${sent.json.id}` } });
  const pending = await api.job(sent.json.id);
  expect(pending.json).toEqual({ status: "pending", error: null, error_detail: null, result: null });
  expect(pending.headers["retry-after"]).toBe("1");
  expect(await count("rides")).toBe(0);
  api.work();
  const done = await ended(api, sent.json.id);
  const [row] = await catalog.rows("select id from rides");
  expect(done).toEqual({ status: "done", error: null, error_detail: null, result: { id: row?.[0], fare: 8 } });
});

test.each([
  ["/rides", { km: 4 }, "x-forwarded-proto", "../_jobs/"],
  ["/rides", { km: 4 }, "forwarded", "../_jobs/"],
  ["/items/update", { sku: "a" }, "via", "../../_jobs/"],
])("behind a proxy the job URL of %s is relative to the request", async (path, body, header, start) => {
  const api = await serve();
  const sent = await api.post(path, body, undefined, { [header]: "https" });
  expect(sent).toMatchObject({ status: 200, json: { job_url: `${start}${sent.json.id}` } });
  const asked = new URL(`https://shop.example/api/v1${path}`);
  expect(new URL(sent.json.job_url, asked).href).toBe(`https://shop.example/api/_jobs/${sent.json.id}`);
});

test("an array in the background is one job for all its rows", async () => {
  const api = await serve();
  api.work();
  const many = await api.post("/rides", [{ km: 1 }, { km: 2 }]);
  const { result } = await ended(api, many.json.id);
  expect(result.map(({ fare }: { fare: number }) => fare)).toEqual([2, 4]);
  const bad = await api.post("/rides", [{ km: 1 }, { km: "far" }]);
  const { status, error_detail: errorDetail } = await ended(api, bad.json.id);
  expect([status, errorDetail.code, errorDetail.errors[0].pointer]).toEqual(["error", "invalid_request", "/1/km"]);
  expect(await count("rides")).toBe(2);
});

test("computes, updates and deletes run in the background too", async () => {
  const api = await serve();
  api.work();
  await catalog.sql.query({ text: "insert into items (_row, sku, n) values (uuidv7(), 'a', 1)" });
  const result = async (path: string, body: unknown) => (await ended(api, (await api.post(path, body)).json.id)).result;
  expect(await result("/fare", { km: 5 })).toEqual({ fare: 10 });
  expect(await result("/items/update", { sku: "a", n: 2 })).toEqual({ sku: "a", n: 2 });
  expect(await result("/items/delete", { sku: "a" })).toEqual({ num_rows: 1 });
  expect([await count("rides"), await count("items")]).toEqual([0, 0]);
});

test("an invalid request is refused at once and makes no job", async () => {
  const api = await serve();
  expect(await api.post("/rides", { km: "far" })).toMatchObject({ status: 422, json: { code: "invalid_request" } });
  expect(await count("appdb.background")).toBe(0);
});

test("a failed job reports its error, and retries run as declared", async () => {
  let calls = 0;
  catalog.steps.fare = () => {
    calls += 1;
    if (calls < 4) throw new Error("provider away");
    return 1;
  };
  const api = await serve();
  api.work();
  const failed = await ended(api, (await api.post("/rides", { km: 1 })).json.id);
  expect(failed).toMatchObject({
    status: "error",
    result: null,
    error_detail: { code: "function_failed", status: 400 },
  });
  expect(failed.error).toContain("provider away");
  const listed = await listJobs(catalog.sql, { database: "main", folder: null, all: true });
  expect(listed).toMatchObject([{ state: "failed", errors: 1 }]);
  const { id } = (await api.post("/patient", { km: 1 })).json;
  const done = await eventually(async () => {
    now += 1_000;
    const { json } = await api.job(id);
    expect(json.status).toBe("done");
    return json;
  });
  expect(done.result).toEqual({ fare: 1 });
  expect(calls).toBe(4);
  expect(await count("rides")).toBe(1);
});

test("another process runs a dead process's job, and its row is stored once", async () => {
  const api = await serve();
  const { id } = (await api.post("/rides", { km: 4 })).json;
  // The state that a process leaves if it dies between storing the row and recording it.
  const first = api.work();
  await ended(api, id);
  await first.stop();
  await catalog.sql.query({
    text: `update appdb.background set state = 'running', owner = 'dead', result = null, ended_at = null, expires_at = null,
      lease_until = now() + interval '10 seconds'`,
  });
  const other = await serve();
  other.work();
  await catalog.sql.query({ text: "select pg_notify('appdb_background', '')" });
  expect((await other.job(id)).json.status).toBe("pending");
  now += 60_000;
  expect(await ended(other, id)).toMatchObject({ status: "done", result: { fare: 8 } });
  expect(await count("rides")).toBe(1);
});

test("a job whose processes keep dying is given up with an error", async () => {
  const api = await serve();
  const { id } = (await api.post("/rides", { km: 4 })).json;
  await catalog.sql.query({
    text: "update appdb.background set state = 'running', owner = 'dead', leases = 4, lease_until = '-infinity'",
  });
  api.work();
  expect(await ended(api, id)).toMatchObject({ status: "error", error_detail: { code: "job_lost" } });
  expect(await count("rides")).toBe(0);
});

test("a stopping process lets a job end or hands it over", async () => {
  let letGo = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  catalog.steps.fare = async (row) => {
    if (row.km === 1) await gate;
    return 7;
  };
  const api = await serve();
  const working = api.work();
  const { id } = (await api.post("/rides", { km: 1 })).json;
  await eventually(async () => expect(await states()).toEqual(["running"]));
  const stopped = working.stop();
  letGo();
  await stopped;
  expect((await api.job(id)).json).toMatchObject({ status: "done", result: { fare: 7 } });
});

test("a cancelled waiting job stores nothing; an ended one cannot be cancelled", async () => {
  const api = await serve();
  const { id } = (await api.post("/rides", { km: 1 })).json;
  expect((await api.job(id, "DELETE")).json).toMatchObject({ status: "cancelled", result: null });
  api.work();
  const other = (await api.post("/rides", { km: 2 })).json.id;
  await ended(api, other);
  expect((await api.job(id)).json.status).toBe("cancelled");
  expect(await count("rides")).toBe(1);
  const refused = await api.job(other, "DELETE");
  expect(refused).toMatchObject({ status: 409, json: { code: "job_not_cancellable" } });
});

test("a cancelled running job stops, stores nothing and is not retried", async () => {
  let calls = 0;
  catalog.steps.fare = () => {
    calls += 1;
    return new Promise(() => undefined);
  };
  const api = await serve();
  api.work();
  const { id } = (await api.post("/patient", { km: 1 })).json;
  await eventually(() => expect(calls).toBe(1));
  expect((await api.job(id, "DELETE")).json).toMatchObject({ status: "pending" });
  expect(await ended(api, id)).toEqual({ status: "cancelled", error: null, error_detail: null, result: null });
  catalog.steps.fare = () => 1;
  await ended(api, (await api.post("/rides", { km: 2 })).json.id);
  expect([await states(), await count("rides")]).toEqual([["cancelled", "done"], 1]);
  expect(await api.job(id, "DELETE")).toMatchObject({ status: 409, json: { code: "job_not_cancellable" } });
});

test("the command line lists and cancels background jobs like other jobs", async () => {
  const api = await serve();
  const { id } = (await api.post("/rides", { km: 1 })).json;
  const list = (all: boolean) => listJobs(catalog.sql, { database: "main", folder: null, all });
  expect(await list(false)).toMatchObject([
    { id, kind: "background", state: "queued", table: "main/api POST /v1/rides", rows_done: 0 },
  ]);
  await cancelJob(catalog.sql, { now: () => now }, id.slice(0, 8));
  expect(await list(false)).toEqual([]);
  expect(await list(true)).toMatchObject([{ id, state: "cancelled" }]);
});

test("the limit of unfinished jobs holds under concurrent requests", async () => {
  const api = await serve({ background_jobs: 5 });
  const sent = await Promise.all(Array.from({ length: 12 }, (_, km) => api.post("/rides", { km })));
  const refused = sent.filter(({ status }) => status !== 200);
  expect(refused).toHaveLength(7);
  expect(refused[0]).toMatchObject({ status: 503, json: { code: "overloaded" }, headers: { "retry-after": "5" } });
  api.work();
  await eventually(async () => expect(await count("rides")).toBe(5));
  expect((await api.post("/rides", { km: 1 })).status).toBe(200);
});

test("a retried request with its key gets the same job", async () => {
  const api = await serve();
  const sent = await Promise.all(Array.from({ length: 10 }, () => api.post("/rides", { km: 1 }, "k1")));
  expect(new Set(sent.map(({ json }) => json.id)).size).toBe(1);
  expect(await count("appdb.background")).toBe(1);
  expect(await api.post("/rides", { km: 2 }, "k1")).toMatchObject({ json: { code: "idempotency_mismatch" } });
});

test("a result is available until it expires, and is then collected", async () => {
  const api = await serve();
  const working = api.work();
  const { id } = (await api.post("/rides", { km: 1 })).json;
  await ended(api, id);
  await working.stop();
  now += 599_000;
  expect((await api.job(id)).json.status).toBe("done");
  now += 2_000;
  expect(await api.job(id)).toMatchObject({ status: 404, json: { code: "job_not_found" } });
  expect(await api.job("nonsense")).toMatchObject({ status: 404 });
  const waiting = (await api.post("/rides", { km: 2 })).json.id;
  await api.endpoints.collect();
  expect((await catalog.sql.query({ text: "select id from appdb.background" })).rows).toEqual([[waiting]]);
});

test("jobs of a restored copy wait for a person", async () => {
  const api = await serve();
  const { id } = (await api.post("/rides", { km: 1 })).json;
  await catalog.sql.query({ text: "update appdb.state set incarnation = gen_random_uuid()" });
  api.work();
  const other = (await api.post("/rides", { km: 2 })).json.id;
  await ended(api, other);
  expect((await api.job(id)).json.status).toBe("pending");
});

async function states(): Promise<readonly (string | null | undefined)[]> {
  return (await catalog.rows("select state from appdb.background order by seq")).map(([state]) => state);
}
