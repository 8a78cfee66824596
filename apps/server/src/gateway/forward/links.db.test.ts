import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createLocalAccess } from "@appdb/pods/driver/local-access";
import type { LinkAnswer, LinkRequest } from "@appdb/pods/link/link";
import { serveLink } from "@appdb/pods/link/serve-link";
import { openTracer } from "@appdb/system/traces/open-tracer";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { startTraceCollector, type TraceCollector } from "@appdb/testkit/trace-collector";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createLocateVolume } from "../../pods/locate-volume.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../../testing/people.ts";
import { type LinkHandler, openTestGateway, type TestGateway } from "../../testing/test-gateway.ts";
import type { GatewayDeps } from "../gateway.ts";
import { BUFFERED_BODY_BYTES } from "./send-by-link.ts";

let server: TestServer;
let gateway: TestGateway;
let people: TestPeople;
let key: string;
let traces: TraceCollector;
let tracer: Awaited<ReturnType<typeof openTracer>>;
const links: AsyncDisposable[] = [];
let isDriverDown = false;

beforeAll(async () => {
  server = await openServer();
  traces = await startTraceCollector();
  // samples no request without a parent trace
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: traces.url, OTEL_TRACES_SAMPLER_ARG: "0" };
  tracer = await openTracer(env, { name: "gateway", version: "1.2.3", role: "gateway" }, createSilentLog());
  const access = createLocalAccess(createLocateVolume({ home: server.home, runtime_base: undefined }));
  const podAccess: GatewayDeps["pod_access"] = {
    async endpoints(pod) {
      if (isDriverDown) throw new Error("The driver does not answer.");
      return await access.endpoints(pod);
    },
  };
  gateway = await openTestGateway(server, { limits: { request_ms: 1_000 }, deps: { tracer, pod_access: podAccess } });
  people = await makePeople(server);
  key = await makeKey(server, people.org, people.owner, { name: "caller" });
});
afterEach(async () => {
  for (const link of links.splice(0)) await link[Symbol.asyncDispose]();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await tracer?.[Symbol.asyncDispose]();
  await traces[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

let count = 0;
async function openLinked(handle: LinkHandler) {
  const name = `db${++count}`;
  const database = await gateway.makeDatabase(people.org, { name });
  const service = await gateway.makeService(people.org, database.id);
  const { link_socket: socket, token } = await gateway.placePod(service, 1);
  const link = await serveLink({ socket, token, log: createSilentLog(), handle });
  links.push(link);
  await gateway.serve(service, 1);
  const url = `${database.url}/ingest`;
  const call = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(url + path, { ...init, headers: { "x-api-key": key, ...init.headers } });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text };
  };
  const insert = (body = '{"a":1}') =>
    call("/docs", { method: "POST", body, headers: { "content-type": "application/json" } });
  return { call, database: name, insert, link, service, socket, url };
}

const inHeader = ({ spanId, traceId }: { spanId: string; traceId: string }) => `00-${traceId}-${spanId}-01`;

const echo = async ({ body, ...head }: LinkRequest): Promise<LinkAnswer> => ({
  status: 201,
  headers: ["content-type", "application/json", "set-cookie", "a=1", "set-cookie", "b=2"],
  body: Buffer.from(
    JSON.stringify({ ...head, body: (await bytesOf(body)).toString(), is_whole: Buffer.isBuffer(body) }),
  ),
});

async function bytesOf(body: LinkRequest["body"]): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return body;
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("the first request opens the link and reaches the service without the key", async () => {
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
    is_whole: true,
    caller: { name: "caller" },
    client_address: "127.0.0.1",
    is_secure: false,
  });
  expect(linked.text).not.toContain(key);
  expect(JSON.parse((await call("/by_title?title=a%20b")).text)).toMatchObject({
    method: "GET",
    path: "/by_title",
    search: "title=a%20b",
    body: "",
  });
});

test("the service learns whether a key reads the media store, and no header of the client changes it", async () => {
  const { call, database } = await openLinked(echo);
  const uri = `cloud://${people.org.name}:${database}`;
  const readsOf = async (headers: Record<string, string> = {}) =>
    JSON.parse((await call("/docs", { headers })).text).caller.reads_media;
  const withGrant = async (scope: string) => {
    const grants = [`access:${uri}${scope}`];
    const made = await makeKey(server, people.org, people.owner, { name: `key${scope.replaceAll("/", "-")}`, grants });
    const headers = { "x-api-key": made };
    await eventually(async () => expect((await call("/docs", { headers })).status).toBe(201));
    return headers;
  };
  expect(await readsOf()).toBe(true);
  expect(await readsOf(await withGrant(""))).toBe(true);
  expect(await readsOf(await withGrant("/services"))).toBe(false);
  const limited = await withGrant("/services/ingest");
  expect(await readsOf(limited)).toBe(false);
  expect(
    await readsOf({ ...limited, "x-reads-media": "true", reads_media: "true", caller: '{"reads_media":true}' }),
  ).toBe(false);
});

test("a long body, or one of another type, streams to the service", async () => {
  const { call } = await openLinked(echo);
  const json = { "content-type": "application/json" };
  for (const [body, headers] of [
    ["a,b", { "content-type": "text/csv" }],
    [" ".repeat(BUFFERED_BODY_BYTES + 1), json],
    ["x".repeat(5_000_000), { "content-type": "text/plain" }],
  ] as const) {
    const asked = await call("/docs", { method: "POST", body, headers });
    const said = JSON.parse(asked.text);
    expect([said.body === body, said.is_whole, said.headers["content-length"]]).toEqual([
      true,
      false,
      `${body.length}`,
    ]);
  }
});

test("an answer that comes before the end of the body reaches its sender, and the rest is dropped", async () => {
  const refused: LinkAnswer = { status: 422, headers: [], body: Buffer.from("no") };
  const { url } = await openLinked(async ({ body }) => {
    for await (const _ of body) break;
    return refused;
  });
  const { hostname, pathname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let received = "";
  socket.on("data", (data) => (received += data));
  for (let time = 1; time <= 2; time += 1) {
    const head = `POST ${pathname}/docs HTTP/1.1\r\nhost: ${hostname}:${port}\r\nx-api-key: ${key}\r\n`;
    const type = "content-type: application/x-ndjson\r\n";
    socket.write(`${head}${type}content-length: 20000000\r\n\r\n`);
    for (let at = 0; at < 20; at += 1) if (!socket.write(Buffer.alloc(1_000_000))) await once(socket, "drain");
    await eventually(() => expect(received.match(/HTTP\/1.1 422 .*?\r\n\r\nno/gs)).toHaveLength(time));
  }
  socket.destroy();
});

test("an answer without a body keeps the service's length; a streamed one must match it", async () => {
  const { call } = await openLinked(async ({ path }) => {
    const [, status = "200", said = "", bytes = "0", kind = ""] = path.split("/");
    const body = Buffer.alloc(Number(bytes), "x");
    const pieces = async function* () {
      yield body;
    };
    const headers = said === "" ? [] : ["content-length", said];
    return { status: Number(status), headers, body: kind === "pieces" ? pieces() : body };
  });
  const said = async (path: string, method: string) => {
    const { headers, status, text } = await call(path, { method });
    return [status, headers.get("content-length"), text.length];
  };
  expect(await said("/200/9/0/whole", "HEAD")).toEqual([200, "9", 0]);
  expect(await said("/200/9/9/pieces", "HEAD")).toEqual([200, "9", 0]);
  expect(await said("/304/9/0/whole", "GET")).toEqual([304, "9", 0]);
  expect(await said("/204//0/whole", "GET")).toEqual([204, null, 0]);
  expect(await said("/204//5/pieces", "GET")).toEqual([204, null, 0]);
  expect(await said("/200/9/9/pieces", "GET")).toEqual([200, "9", 9]);
  expect(await said("/200//9/pieces", "GET")).toEqual([200, null, 9]);
  for (const bytes of [8, 10]) await expect(call(`/200/9/${bytes}/pieces`)).rejects.toThrow(/terminated|failed/);
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

test("traces continue the gateway's span; requests without a key are not traced", async () => {
  const { call, database } = await openLinked(echo);
  const trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const headers = { traceparent: `00-${trace_id}-00f067aa0ba902b7-01` };
  const told = async (path: string) => JSON.parse((await call(path, { headers })).text).headers.traceparent;
  const passed = [await told("/by_title?title=secret"), await told("/other/secret")];
  expect((await call("/by_title", { headers: { ...headers, "x-api-key": "sk_wrong" } })).status).toBe(401);
  expect((await call("/health", { headers: { ...headers, "x-api-key": "" } })).status).toBe(201);
  expect(JSON.parse((await call("/by_title")).text).headers.traceparent).toBe(undefined);
  await eventually(() => expect(traces.spans).toHaveLength(2));
  const spans = traces.spans.toSorted((a, b) => passed.indexOf(inHeader(a)) - passed.indexOf(inHeader(b)));
  expect(spans.map(inHeader)).toEqual(passed);
  for (const span of spans) {
    expect(span).toMatchObject({
      name: "GET /ingest/*",
      parentSpanId: "00f067aa0ba902b7",
      service: "gateway",
      attributes: {
        "appdb.role": "gateway",
        "appdb.service": `cloud://${people.org.name}:${database}/ingest`,
        "http.response.status_code": 201,
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
      if (String(body) === '"breaks"') throw new Error("broken");
    };
    return { status: 200, headers: [], body: pieces() };
  });
  expect((await insert("1")).text).toHaveLength(1_000_000);
  await expect(insert('"breaks"')).rejects.toThrow();
});

test("a pod that closes the link is not asked again, and a silent one times out", async () => {
  let asked = 0;
  const { insert, link } = await openLinked(async () => {
    asked += 1;
    return await new Promise<never>(() => undefined);
  });
  const late = await insert();
  expect(late.status).toBe(504);
  expect(JSON.parse(late.text)).toMatchObject({ code: "service_timeout" });
  const cut = insert();
  await eventually(() => expect(asked).toBe(2));
  await link[Symbol.asyncDispose]();
  expect(JSON.parse((await cut).text)).toMatchObject({ status: 502, code: "service_broken" });
  expect(asked).toBe(2);
});

test("requests to a draining pod, or one of another link version, wait for the next instance", async () => {
  for (const previous of ["drains", "is older"]) {
    const { insert, link, service, socket } = await openLinked(echo);
    if (previous === "drains") {
      expect((await insert()).status).toBe(201);
      link.drain();
    } else {
      await link[Symbol.asyncDispose]();
      const older = createServer((raw) => raw.once("data", () => raw.destroy())).listen(socket);
      links.push({ [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void older.close(() => resolve())) });
    }
    const waiting = insert();
    await sleep(200);
    await gateway.runPod(service, 2);
    await gateway.serve(service, 2);
    expect((await waiting).text, previous).toContain('"instance":2');
  }
});

test("requests wait until the driver knows how to reach their pod", async () => {
  isDriverDown = true;
  const { insert } = await openLinked(echo);
  const waiting = insert();
  await sleep(200);
  isDriverDown = false;
  expect((await waiting).status).toBe(201);
});
