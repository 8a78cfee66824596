import { rmSync } from "node:fs";
import { LINK_BODY_BYTES, type LinkAnswer, type LinkRequest } from "@appdb/pods/link/link";
import { type LinkServer, serveLink } from "@appdb/pods/link/serve-link";
import { openTracer } from "@appdb/system/traces/open-tracer";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { startTraceCollector, type TraceCollector } from "@appdb/testkit/trace-collector";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { ensurePodToken } from "../../pods/pod-token.ts";
import { serviceTokenOf } from "../../pods/service-token.ts";
import { type GatewayStage, openGatewayStage } from "../../testing/gateway-stage.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { type OrgStage, openOrgStage } from "../../testing/people.ts";

let server: TestServer;
let stage: GatewayStage;
let people: OrgStage;
let key: string;
let traces: TraceCollector;
let tracer: Awaited<ReturnType<typeof openTracer>>;
const links: LinkServer[] = [];

beforeAll(async () => {
  server = await openServer();
  traces = await startTraceCollector();
  // samples no request without a parent trace
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: traces.url, OTEL_TRACES_SAMPLER_ARG: "0" };
  tracer = await openTracer(env, { name: "gateway", version: "1.2.3", role: "gateway" }, createSilentLog());
  stage = await openGatewayStage(server, { limits: { request_ms: 1_000 }, deps: { tracer } });
  people = await openOrgStage(server);
  key = await stage.makeKey(people.org, people.owner, "caller");
});
afterEach(async () => {
  for (const link of links.splice(0)) await link[Symbol.asyncDispose]();
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await tracer?.[Symbol.asyncDispose]();
  await traces[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

let count = 0;
/** A service whose pod answers by link and, with `{"instance": 1}`, by HTTP. */
async function openLinked(handle: (request: LinkRequest) => Promise<LinkAnswer>) {
  const name = `db${++count}`;
  const database = await stage.makeDatabase(people.org, { name });
  const id = await stage.makeService(people.org, database.id, "ingest");
  const service = { id, database_id: database.id };
  const pod = await stage.runPod(service, 1);
  const token = await ensurePodToken(server.deps, { id: database.id, org_id: people.org.id });
  const link = await serveLink({
    socket: pod.link_socket,
    token: serviceTokenOf(token, id, 1),
    log: createSilentLog(),
    handle,
    about: { routes: ["POST /docs", "GET /by_title"] },
  });
  links.push(link);
  await stage.serve(id, 1);
  await eventually(() => expect(stage.gateway.table.byId(database.id)?.services[0]?.instance).toBe(1));
  const url = `${database.url}/ingest`;
  const call = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(url + path, { ...init, headers: { "x-api-key": key, ...init.headers } });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text };
  };
  const insert = (body = '{"a":1}') =>
    call("/docs", { method: "POST", body, headers: { "content-type": "application/json" } });
  // the first request opens the link
  await eventually(async () => expect((await insert()).text).not.toContain('"instance"'));
  return { call, database: name, insert, link, socket: pod.link_socket };
}

const inHeader = ({ spanId, traceId }: { spanId: string; traceId: string }) => `00-${traceId}-${spanId}-01`;

const echo = async ({ body, ...head }: LinkRequest): Promise<LinkAnswer> => ({
  status: 201,
  headers: ["content-type", "application/json", "set-cookie", "a=1", "set-cookie", "b=2"],
  body: Buffer.from(JSON.stringify({ ...head, body: body.toString() })),
});

test("short requests to announced routes use the link, without the key; others use HTTP", async () => {
  const { call, insert } = await openLinked(echo);
  const linked = await insert('{"title":"é"}');
  expect(linked.status).toBe(201);
  expect(linked.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(linked.headers.get("x-request-id")).toBe(JSON.parse(linked.text).id);
  expect(JSON.parse(linked.text)).toMatchObject({
    method: "POST",
    path: "/docs",
    search: "",
    body: '{"title":"é"}',
    caller: { name: "caller" },
  });
  expect(linked.text).not.toContain(key);
  expect(JSON.parse((await call("/by_title?title=a%20b")).text)).toMatchObject({
    method: "GET",
    path: "/by_title",
    search: "title=a%20b",
    body: "",
  });
  const type = { "content-type": "application/json" };
  for (const [path, init] of [
    ["/other", {}],
    ["/by_title", { headers: { accept: "text/event-stream" } }],
    ["/docs", { method: "POST", body: "a,b", headers: { "content-type": "text/csv" } }],
    ["/docs", { method: "POST", body: "{}", headers: { ...type, origin: "https://a.example" } }],
    ["/docs", { method: "POST", body: " ".repeat(LINK_BODY_BYTES + 1), headers: type }],
  ] as const) {
    expect((await call(path, init)).text, path).toContain('"instance":1');
  }
});

test("the dashboard's cookies never reach a service", async () => {
  const { call } = await openLinked(echo);
  const headers = { cookie: "a=1; appdb.session_token=secret; __Secure-appdb.session_token=secret; b=2" };
  for (const path of ["/by_title", "/other"]) {
    const { text } = await call(path, { headers });
    expect(JSON.parse(text).headers.cookie, path).toBe("a=1; b=2");
    const alone = await call(path, { headers: { cookie: "appdb.session_token=secret" } });
    expect(alone.text, path).not.toContain('cookie":"');
  }
});

test("traces continue the gateway's span by link and HTTP; requests without a key are not traced", async () => {
  const { call, database } = await openLinked(echo);
  const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const headers = { traceparent: `00-${trace_id}-00f067aa0ba902b7-01` };
  const told = async (path: string) => JSON.parse((await call(path, { headers })).text).headers.traceparent;
  const passed = [await told("/by_title?title=secret"), await told("/other/secret")];
  expect((await call("/by_title", { headers: { ...headers, "x-api-key": "sk_wrong" } })).status).toBe(401);
  expect((await call("/health", { headers: { ...headers, "x-api-key": "" } })).status).toBe(200);
  expect(JSON.parse((await call("/by_title")).text).headers.traceparent).toBe(undefined);
  await eventually(() => expect(traces.spans).toHaveLength(2), { timeout_ms: 10_000 });
  const spans = traces.spans.toSorted((a, b) => passed.indexOf(inHeader(a)) - passed.indexOf(inHeader(b)));
  expect(spans.map(inHeader)).toEqual(passed);
  for (const [at, span] of spans.entries()) {
    expect(span).toMatchObject({
      name: "GET /ingest/*",
      parentSpanId: "00f067aa0ba902b7",
      service: "gateway",
      attributes: {
        "appdb.role": "gateway",
        "appdb.service": `cloud://${people.org.name}:${database}/ingest`,
        "http.response.status_code": [201, 200][at],
      },
    });
  }
  expect(JSON.stringify(traces.spans)).not.toContain("secret");
  expect(JSON.stringify(traces.spans)).not.toContain(key);
});

test("a streamed answer is passed on at once, and an interrupted one is visibly incomplete", async () => {
  const { insert } = await openLinked(async ({ body }) => {
    const pieces = async function* () {
      for (let n = 0; n < 50; n += 1) yield Buffer.alloc(20_000, "x");
      if (body.toString() === '"breaks"') throw new Error("broken");
    };
    return { status: 200, headers: [], body: pieces() };
  });
  expect((await insert("1")).text).toHaveLength(1_000_000);
  await expect(insert('"breaks"')).rejects.toThrow();
});

test("a draining pod is asked by HTTP, a closed one only once, and a silent one times out", async () => {
  let isSilent = false;
  let asked = 0;
  const { insert, link, socket } = await openLinked(async (request) => {
    asked += 1;
    if (isSilent) return await new Promise<never>(() => undefined);
    return await echo(request);
  });
  isSilent = true;
  const late = await insert();
  expect(late.status).toBe(504);
  expect(JSON.parse(late.text)).toMatchObject({ code: "service_timeout" });
  const before = asked;
  const cut = insert();
  await eventually(() => expect(asked).toBe(before + 1));
  await link[Symbol.asyncDispose]();
  expect(JSON.parse((await cut).text)).toMatchObject({ status: 502, code: "service_broken" });
  rmSync(socket, { force: true });
  expect((await insert()).text).toContain('"instance":1');
  isSilent = false;
  const other = await openLinked(echo);
  other.link.drain();
  await eventually(async () => expect((await other.insert()).text).toContain('"instance":1'));
});
