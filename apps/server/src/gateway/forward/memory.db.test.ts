import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { LinkAsked } from "@appdb/pods/link/serve-link";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../../testing/people.ts";
import { type LinkHandler, openTestGateway, type TestGateway } from "../../testing/test-gateway.ts";
import { BUFFERED_BODY_BYTES } from "./send-by-link.ts";

/** One organization may use a quarter: five bodies of 60,000 bytes exceed it. */
const MEMORY_BYTES = 1_048_576;
const LONG = 60_000;

let server: TestServer;
let gateway: TestGateway;
let people: TestPeople;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = await openServer();
  gateway = await openTestGateway(server, {
    limits: { memory_bytes: MEMORY_BYTES, client_ms: 2_000, request_ms: 3_000, org_in_flight: 20 },
  });
  people = await makePeople(server);
});
beforeEach(async () => expect(await held()).toBe(0));
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function held(): Promise<number> {
  return Number(/^appdb_gateway_held_bytes (\d+)$/m.exec(await gateway.metrics.metrics())?.[1]);
}

const nothingIsHeld = () => eventually(async () => expect(await held()).toBe(0), { timeout_ms: 20_000 });

let count = 0;
async function openLinked(handle: LinkHandler, isOther = false) {
  const [org, person] = isOther ? [people.other_org, people.outsider] : [people.org, people.owner];
  const database = await gateway.makeDatabase(org, { name: `db${++count}` });
  const service = await gateway.makeService(org, database.id);
  const pod = await gateway.runLinkPod(service, 1, (asked, more) =>
    (asked.search === "warm" ? echo : handle)(asked, more),
  );
  await gateway.serve(service, 1);
  const key = await makeKey(server, org, person, { name: `caller${count}` });
  const url = `${database.url}/ingest`;
  const post = async (body: string, path = "/docs") => {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const got = await fetch(url + path, { method: "POST", body, headers });
    const text = await got.text();
    return { status: got.status, text, retry_after: got.headers.get("retry-after") };
  };
  // bodies are held until the link is open
  await eventually(async () => expect((await post("{}", "/docs?warm")).text).toBe("{}"));
  /** A raw connection with the same request `times` times. It reads nothing if `is_deaf`. */
  const raw = (head: string, body = "", { is_deaf: isDeaf = false, times = 1 } = {}) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => undefined);
    if (isDeaf) socket.pause();
    else socket.resume();
    const text = `${head}Host: x\r\nX-api-key: ${key}\r\n\r\n${body}`;
    socket.write(text);
    // concurrent answers would exceed the memory of the organization, which ends their connection
    const more = setInterval(() => {
      times -= 1;
      if (times > 0) socket.write(text);
    }, 10);
    socket.once("close", () => clearInterval(more));
    sockets.push(socket);
    return socket;
  };
  /** A request that declares a body of `LONG` bytes and sends one. */
  const begin = () =>
    raw(`POST /ingest/docs HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${LONG}\r\n`, "[");
  return { url, post, raw, begin, pod };
}
const NONE: LinkAsked = { is_gone: false, signal: new AbortController().signal };
const never = () => new Promise<never>(() => undefined);
const echo: LinkHandler = async ({ body }) => ({ status: 200, headers: [], body });

test("an organization that exceeds its memory is refused, and others are served", async () => {
  const mine = await openLinked(echo);
  const theirs = await openLinked(echo, true);
  const slow = Array.from({ length: 4 }, () => mine.begin());
  await eventually(async () => expect(await held()).toBe(4 * LONG));
  const refused = await mine.post(JSON.stringify("x".repeat(LONG)));
  expect(JSON.parse(refused.text)).toMatchObject({ status: 503, code: "overloaded" });
  expect(refused.retry_after).toBe("1");
  expect((await theirs.post(JSON.stringify("x".repeat(LONG)))).status).toBe(200);
  for (const socket of slow) socket.destroy();
  await nothingIsHeld();
  expect((await mine.post(JSON.stringify("x".repeat(LONG)))).status).toBe(200);
});

test("the gateway releases a body while the service works on it", async () => {
  let asked = 0;
  const { post, url } = await openLinked(async () => {
    asked += 1;
    return await never();
  });
  const calls = Array.from({ length: 10 }, () => post(JSON.stringify("x".repeat(LONG))));
  await eventually(() => expect(asked, url).toBe(10));
  await nothingIsHeld();
  for (const { status } of await Promise.all(calls)) expect(status).toBe(504);
});

test("an organization's concurrent requests are limited over all of its services", async () => {
  let asked = 0;
  const hold = async () => {
    asked += 1;
    return await never();
  };
  const services = [await openLinked(hold), await openLinked(hold)];
  const calls = services.flatMap(({ post }) => Array.from({ length: 10 }, () => post("{}")));
  await eventually(() => expect(asked).toBe(20));
  for (const { post } of services) {
    const { status, text } = await post("{}");
    expect([status, JSON.parse(text).code]).toEqual([503, "overloaded"]);
  }
  await Promise.all(calls);
});

test("a long body streams to the service", async () => {
  const kind: LinkHandler = async ({ body }) => {
    return { status: 200, headers: [], body: Buffer.from(Buffer.isBuffer(body) ? "whole" : "in pieces") };
  };
  const { post } = await openLinked(kind);
  const body = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
  expect((await post(body(BUFFERED_BODY_BYTES))).text).toBe("whole");
  expect((await post(body(BUFFERED_BODY_BYTES + 1))).text).toBe("in pieces");
});

test("a pod that reads no body occupies memory only until it is killed", async () => {
  const { post, pod, raw } = await openLinked(async (asked) =>
    asked.path === "/upload" ? await never() : await echo(asked, NONE),
  );
  const head = "POST /ingest/upload HTTP/1.1\r\nContent-Type: text/csv\r\nContent-Length: 5000000\r\n";
  raw(head, "x".repeat(4_000_000));
  await eventually(async () => expect(await held()).toBeGreaterThan(0));
  expect((await post("{}")).status).toBe(200);
  await pod[Symbol.asyncDispose]();
  await nothingIsHeld();
});

async function* pieces(count: number) {
  for (let at = 0; at < count; at += 1) yield Buffer.alloc(16_384, "x");
}

test.each([
  ["in pieces", "/big", true],
  ["that is whole", "/big?whole", true],
  ["in pieces, and goes", "/big", false],
  ["that is whole, and goes", "/big?whole", false],
])(
  "a client that reads no answer %s occupies memory only until its timeout",
  { timeout: 60_000 },
  async (_name, path, stays) => {
    const { raw } = await openLinked(async ({ search }) => ({
      status: 200,
      headers: [],
      // more than two sockets buffer
      body: search === "whole" ? Buffer.alloc(LONG, "x") : pieces(2_000),
    }));
    // one answer alone may fit into the system's socket buffers
    const times = path === "/big?whole" ? 200 : 1;
    const socket = raw(`GET /ingest${path} HTTP/1.1\r\n`, "", { is_deaf: true, times });
    await eventually(async () => expect(await held()).toBeGreaterThan(0), { timeout_ms: 20_000 });
    if (stays) await sleep(100);
    else socket.destroy();
    await nothingIsHeld();
  },
);

test("a broken link occupies no memory", async () => {
  const { raw, pod } = await openLinked(async () => ({ status: 200, headers: [], body: pieces(2_000) }));
  const socket = raw("GET /ingest/big HTTP/1.1\r\n", "", { is_deaf: true });
  await eventually(async () => expect(await held()).toBeGreaterThan(0));
  await pod[Symbol.asyncDispose]();
  socket.resume();
  await nothingIsHeld();
});
