import { once } from "node:events";
import { connect } from "node:net";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../testing/people.ts";
import { openTestGateway, type TestGateway } from "../testing/test-gateway.ts";

let server: TestServer;
let gateway: TestGateway;
let people: TestPeople;
let key: string;

beforeAll(async () => {
  server = await openServer();
  gateway = await openTestGateway(server, {
    limits: { request_ms: 2_000, body_bytes: 1_000, upload_bytes: 2_000, in_flight: 30 },
  });
  people = await makePeople(server);
  key = await makeKey(server, people.org, people.owner, { name: "caller" });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

let count = 0;
/** A database with a running service `ingest`. */
async function openService(answer?: Parameters<TestGateway["runPod"]>[2]) {
  const database = await gateway.makeDatabase(people.org, { name: `db${++count}` });
  const service = await gateway.makeService(people.org, database.id);
  const pod = await gateway.runPod(service, 1, answer);
  await gateway.serve(service, 1);
  return { database, service, pod, url: `${database.url}/ingest` };
}

async function call(url: string, init: RequestInit & { key?: string | undefined } = {}) {
  const { key: shown = key, ...rest } = init;
  const answer = await fetch(url, { ...rest, headers: { "x-api-key": shown, ...rest.headers } });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: text.startsWith("{") ? JSON.parse(text) : undefined,
  };
}

/** Sends raw bytes. Resolves with the answer when the connection closes, or stays silent after it. */
async function sendRaw(url: string, text: string): Promise<string> {
  const { port } = new URL(url);
  return await new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: Number(port) }, () => socket.write(text));
    let got = "";
    socket.on("data", (chunk) => {
      got += chunk;
      socket.setTimeout(1_000, () => socket.destroy());
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(got));
  });
}

describe("a request to a service", () => {
  test("reaches it without the service's name, with its body and origin", async () => {
    const { url } = await openService();
    const answer = await call(`${url}/docs?limit=2`, {
      method: "POST",
      body: '{"title":"Hello"}',
      headers: { "content-type": "application/json", "x-request-id": "mine-1", "x-forwarded-for": "6.6.6.6" },
    });
    expect(answer).toMatchObject({
      status: 200,
      json: {
        instance: 1,
        method: "POST",
        url: "/docs?limit=2",
        body: '{"title":"Hello"}',
        headers: {
          "x-request-id": "mine-1",
          "x-forwarded-for": "127.0.0.1",
          "x-forwarded-proto": "http",
          "x-forwarded-host": new URL(url).host,
          "x-forwarded-prefix": "/ingest",
        },
      },
    });
    expect(answer.headers.get("x-request-id")).toBe("mine-1");
    expect(answer.headers.get("ratelimit-policy")).toBe('"key";q=10000;w=1');
  });

  test("goes to the service with the longest matching name", async () => {
    const { url, database } = await openService();
    const service = await gateway.makeService(people.org, database.id, "ingest/deep");
    await gateway.runPod(service, 7);
    await gateway.serve(service, 7);
    await eventually(async () =>
      expect((await call(`${url}/deep/docs`)).json).toMatchObject({ instance: 7, url: "/docs" }),
    );
    expect((await call(`${url}/deeper`)).json).toMatchObject({ instance: 1, url: "/deeper" });
  });

  test("needs a valid key, X-api-key before a bearer token; health needs none", async () => {
    const { url, database } = await openService();
    const asked = async (headers: Record<string, string>, path = "/docs") => {
      const answer = await fetch(url + path, { headers });
      const { code = "" } = (await answer.json()) as { code?: string };
      return [answer.status, code];
    };
    expect(await asked({})).toEqual([401, "unauthorized"]);
    expect(await asked({ "x-api-key": `${key}x` })).toEqual([401, "unauthorized"]);
    expect(await asked({ authorization: `Bearer ${key}` })).toEqual([200, ""]);
    expect(await asked({ "x-api-key": "sk_no", authorization: `Bearer ${key}` })).toEqual([401, "unauthorized"]);
    expect(await asked({}, "/health")).toEqual([200, ""]);
    const unknown = await fetch(`${database.url}/other/docs`);
    expect(unknown.status, "without a key, no names are revealed").toBe(401);
    expect((await call(`${database.url}/other/docs`)).json).toMatchObject({ status: 404, code: "service_not_found" });
    const page = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(database.url + path, { headers: { accept: "text/html,*/*", ...headers } });
      return {
        status: answer.status,
        text: await answer.text(),
        policy: answer.headers.get("content-security-policy"),
      };
    };
    const own = await page("/ingest/docs");
    expect(own).toMatchObject({
      status: 200,
      text: expect.stringContaining("API key"),
      policy: expect.stringMatching(/^default-src 'none'; script-src 'self';/),
    });
    expect(await page("/other/docs"), "a browser sees no names either").toEqual(own);
    expect(await page("/ingest/docs/assets/start.js")).toMatchObject({ status: 200 });
    expect(await page("/ingest/docs/assets/none.js")).toMatchObject({ status: 401 });
    expect(await page("/ingest/docs", { "x-api-key": `${key}x` })).toMatchObject({ status: 401 });
    expect((await page("/ingest/docs", { "x-api-key": key })).text).toContain('"instance":1');
    expect((await fetch(`${url}/docs`, { method: "POST", headers: { accept: "text/html" } })).status).toBe(401);
    const grant = `access:cloud://${people.org.name}:db${count}/services/other`;
    const other = await makeKey(server, people.org, people.owner, { name: "other", grants: [grant] });
    await eventually(async () =>
      expect((await call(`${url}/docs`, { key: other })).json).toMatchObject({ status: 403, code: "forbidden" }),
    );
  });

  test("is refused in a form that allowed origins may read, and preflights need no key", async () => {
    const { url, service } = await openService();
    const cors = { origins: ["https://app.example"], methods: null, headers: null, credentials: false, max_age_s: 60 };
    await server.deps.db
      .insertInto("control.releases")
      .values({
        service_id: service.id,
        number: 1,
        tree: null,
        environment: null,
        app_file: "app.py",
        workers: 1,
        manifest: JSON.stringify({ services: [{ name: "ingest", cors }] }),
        changes: "[]",
        created_by: "a test",
      })
      .execute();
    await gateway.serve(service, null);
    await gateway.serve(service, 1);
    await eventually(() =>
      expect(gateway.table.byId(service.database_id)?.services[0]).toMatchObject({ instance: 1, cors }),
    );
    const allowed = async (origin: string, init: RequestInit = {}) => {
      const answer = await fetch(`${url}/docs`, { ...init, headers: { origin, ...init.headers } });
      await answer.arrayBuffer();
      return [answer.status, answer.headers.get("access-control-allow-origin")];
    };
    expect(await allowed("https://app.example")).toEqual([401, "https://app.example"]);
    expect(await allowed("https://other.example")).toEqual([401, null]);
    await gateway.serve(service, null);
    await server.deps.db
      .updateTable("control.services")
      .set({ desired: JSON.stringify({ release: 1, is_running: false, restarts: 0 }), generation: 2 })
      .where("id", "=", service.id)
      .execute();
    const asked = { method: "OPTIONS", headers: { "access-control-request-method": "POST" } };
    const withKey = { headers: { "x-api-key": key } };
    // the gateway gets the change a moment later
    await eventually(async () =>
      expect(await allowed("https://app.example", withKey)).toEqual([503, "https://app.example"]),
    );
    expect(await allowed("https://app.example", asked)).toEqual([204, "https://app.example"]);
    expect(await allowed("https://other.example", asked)).toEqual([204, null]);
  });

  test("is refused as soon as the gateway hears of its key's end", async () => {
    const { url } = await openService();
    const short = await makeKey(server, people.org, people.owner, { name: "short" });
    await eventually(async () => expect((await call(url, { key: short })).status).toBe(200));
    await server.ask("keyDelete", { as: people.owner, params: { org: people.org.name, name: "short" } });
    await eventually(async () => expect((await call(url, { key: short })).status).toBe(401));
  });

  test("never reaches another organization's database, whatever the host", async () => {
    const mine = await openService();
    const theirs = await gateway.makeDatabase(people.other_org);
    const service = await gateway.makeService(people.other_org, theirs.id);
    await gateway.runPod(service, 66);
    await gateway.serve(service, 66);
    const theirKey = await makeKey(server, people.other_org, people.outsider, { name: "theirs" });
    await eventually(async () =>
      expect((await call(`${theirs.url}/ingest/docs`, { key: theirKey })).json).toMatchObject({ instance: 66 }),
    );
    expect((await call(`${theirs.url}/ingest/docs`)).status).toBe(401);
    expect((await call(`${mine.url}/docs`, { key: theirKey })).status).toBe(401);
    const raw = await sendRaw(
      mine.url,
      `GET /ingest/docs HTTP/1.1\r\nHost: ${new URL(theirs.url).host}\r\nX-api-key: ${key}\r\nConnection: close\r\n\r\n`,
    );
    expect(raw).toContain('"instance":1');
  });
});

describe("a failing request", () => {
  test("names the reason: too large, too slow, interrupted, not running", async () => {
    const { url, service, pod } = await openService((req, res) => {
      if (req.url === "/slow") return;
      if (req.url === "/break") return void req.socket.destroy();
      if (req.url === "/garbage") return void res.writeHead(200, { "bad name": "x" }).end("{}");
      res.writeHead(200, { "content-length": 10 });
      res.write("half");
      setTimeout(() => res.destroy(), 20);
    });
    const json = { "content-type": "application/json" };
    const post = (path: string, body: string, headers = json) => call(url + path, { method: "POST", body, headers });
    expect((await post("/", " ".repeat(1_001))).json).toMatchObject({ status: 413, code: "payload_too_large" });
    expect((await post("/slow", "{}")).json).toMatchObject({ status: 504, code: "service_timeout" });
    expect((await post("/break", "{}")).json).toMatchObject({ status: 502, code: "service_broken" });
    expect((await post("/garbage", "{}")).json).toMatchObject({ status: 502, code: "service_broken" });
    await expect(call(`${url}/half`)).rejects.toThrow(/terminated|failed/);
    expect(
      pod.requests.filter((req) => req.url === "/break"),
      "a request is not sent twice",
    ).toHaveLength(1);
    await server.deps.db
      .updateTable("control.services")
      .set({ observed: null, state: "FAILED" })
      .where("id", "=", service.id)
      .execute();
    await eventually(async () =>
      expect((await call(url)).json).toMatchObject({ status: 503, code: "service_not_available" }),
    );
  });
});

test("a refusal reaches a client that sends its whole body before it reads", async () => {
  const { url } = await openService();
  const { port } = new URL(url);
  for (const [version, connection] of [
    ["1.1", "close"],
    ["1.0", "x"],
    ["1.1", "keep-alive"],
  ]) {
    const socket = connect({ host: "127.0.0.1", port: Number(port) });
    const head = `POST /docs HTTP/${version}\r\nhost: x\r\nconnection: ${connection}\r\nx-api-key: wrong\r\n`;
    socket.write(`${head}content-type: application/json\r\ncontent-length: 20000000\r\n\r\n`);
    for (let at = 0; at < 20; at += 1) if (!socket.write(Buffer.alloc(1_000_000))) await once(socket, "drain");
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 40[14] /);
    // the connection closes after the body only if the client asks for it
    if (connection !== "keep-alive" && !socket.readableEnded) await once(socket, "end");
    socket.destroy();
  }
});

test("concurrent requests are limited, and bodies without a length are counted as they arrive", async () => {
  const held: (() => void)[] = [];
  const { url, pod } = await openService((req, res) => {
    if (req.url === "/held") held.push(() => res.end());
    else req.resume().on("end", () => res.end());
  });
  const calls = Array.from({ length: 30 }, () => call(`${url}/held`));
  await eventually(() => expect(held).toHaveLength(30));
  const refused = await call(`${url}/held`);
  expect(refused.json).toMatchObject({ status: 503, code: "overloaded" });
  expect(refused.headers.get("retry-after")).toBe("1");
  for (const release of held) release();
  expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
  const head = `POST /ingest/docs HTTP/1.1\r\nHost: x\r\nX-api-key: ${key}\r\nContent-Type: application/json\r\n`;
  const chunk = `3e8\r\n${" ".repeat(1_000)}\r\n`;
  const long = await sendRaw(url, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`);
  expect(long).toMatch(/^HTTP\/1\.1 413 /);
  const seen = pod.requests.length;
  const said = await sendRaw(url, `${head}Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n`);
  expect(said, "before it is sent").toMatch(/^HTTP\/1\.1 413 /);
  expect(pod.requests).toHaveLength(seen);
  const awaited = await sendRaw(url, `${head}Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n{}`);
  expect(awaited).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
});

test("requests are counted by status, without names of tenants", async () => {
  const { url } = await openService();
  const read = async () => {
    const text = await gateway.metrics.metrics();
    expect(text).not.toContain("ingest");
    const of = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
    return ["2xx", "4xx"].map((status) => of(`appdb_gateway_requests_total{status="${status}"}`));
  };
  const [good = 0, refused = 0] = await read();
  await call(url);
  await call(url);
  await call(url, { key: "sk_no" });
  await eventually(async () => expect(await read()).toEqual([good + 2, refused + 1]));
});

describe("malformed HTTP", () => {
  test.each([
    ["two lengths", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a length after chunks", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"],
    ["two different lengths", "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
    ["a last coding other than chunked", "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"],
    ["a space before the colon", "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"],
    ["an invalid chunk length", "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n"],
    ["a bare line feed in a chunk length", "Transfer-Encoding: chunked\r\n\r\n5;\nxx\r\nhello\r\n0\r\n\r\n"],
    ["a folded header", "Content-Length: 5\r\nX-a: b\r\n c\r\n\r\nhello"],
  ])("%s: refused, and its rest is not read as a request", async (_name, rest) => {
    const { url, pod } = await openService();
    const head = `POST /ingest/docs HTTP/1.1\r\nHost: ${new URL(url).host}\r\nX-api-key: ${key}\r\n`;
    const smuggled = `GET /ingest/smuggled HTTP/1.1\r\nHost: x\r\nX-api-key: ${key}\r\n\r\n`;
    const answer = await sendRaw(url, head + rest + smuggled);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(pod.requests.map((req) => req.url)).not.toContain("/smuggled");
  });

  test("two hosts, no host, and a target with another host are refused", async () => {
    const { url } = await openService();
    const { host } = new URL(url);
    const get = (target: string, hosts: string) =>
      sendRaw(url, `GET ${target} HTTP/1.1\r\n${hosts}X-api-key: ${key}\r\nConnection: close\r\n\r\n`);
    expect(await get("/ingest/docs", "")).toMatch(/ 400 /);
    expect(await get(`http://${host}/ingest/docs`, `Host: ${host}\r\n`)).toMatch(/ 422 /);
    expect(await get("/ingest/docs", `Host: ${host}\r\nHost: other\r\n`)).toMatch(/ 422 /);
  });
});

test("no running request fails while the service moves to another instance", async () => {
  const { url, service, pod } = await openService();
  let isOver = false;
  const statuses: (number | string)[] = [];
  const instances = new Set<number>();
  const caller = async () => {
    while (!isOver) {
      const answer = await call(`${url}/docs`, { method: "POST", body: "{}" });
      statuses.push(answer.status === 200 ? 200 : answer.text);
      instances.add(answer.json?.instance);
    }
  };
  const callers = Array.from({ length: 20 }, caller);
  // a busy machine answers about ten per second
  const long = { timeout_ms: 20_000 };
  try {
    await eventually(() => expect(statuses.length).toBeGreaterThan(50), long);
    const next = await gateway.runPod(service, 2);
    await gateway.serve(service, 2);
    await eventually(() => expect(next.requests.length).toBeGreaterThan(20), long);
    await pod.drain();
    const before = statuses.length;
    await eventually(() => expect(statuses.length).toBeGreaterThan(before + 100), long);
  } finally {
    isOver = true;
    await Promise.all(callers);
  }
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect([...instances].sort()).toEqual([1, 2]);
});

test("a waiting request wakes a sleeping database if its settings allow it", async () => {
  const settings = { sleep_after: "15m", vars: {}, db_input_media_dest: null, db_output_media_dest: null };
  for (const wakeOnRequest of [true, false]) {
    const database = await gateway.makeDatabase(people.org, {
      name: `asleep${wakeOnRequest}`,
      state: "STOPPED",
      desired: { is_awake: false, settings: { ...settings, wake_on_request: wakeOnRequest } },
    });
    const service = await gateway.makeService(people.org, database.id);
    await eventually(() => expect(gateway.table.byId(database.id)?.services).toHaveLength(1));
    const asked = call(`${database.url}/ingest/docs`);
    if (!wakeOnRequest) {
      const answer = await asked;
      expect(answer.json).toMatchObject({ status: 503, code: "database_asleep" });
      // nothing wakes it, so a retry is useless
      expect(answer.headers.get("retry-after")).toBeNull();
      continue;
    }
    const { db } = server.deps;
    const state = () =>
      db.selectFrom("control.databases").select(["state", "desired"]).where("id", "=", database.id).executeTakeFirst();
    await eventually(async () =>
      expect(await state()).toMatchObject({ state: "STARTING", desired: { is_awake: true } }),
    );
    await gateway.runPod(service, 3);
    await db.updateTable("control.databases").set({ state: "AVAILABLE" }).where("id", "=", database.id).execute();
    await gateway.serve(service, 3);
    expect((await asked).json).toMatchObject({ instance: 3, url: "/docs" });
  }
});
