import { eventually } from "@appdb/testkit/eventually";
import { aRowRoute } from "@appdb/testkit/manifest-builder";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTraffic } from "../../gateway/exchange/gateway-traffic.ts";
import { makeDatabase } from "../../testing/databases.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../../testing/people.ts";
import { anApplication, makeService } from "../../testing/services.ts";
import { digestOf } from "../../testing/tar.ts";
import { type Answer, openTestGateway, type TestGateway } from "../../testing/test-gateway.ts";

let server: TestServer;
let gateway: TestGateway;
let people: TestPeople;
let serviceId: string;
let key: string;
let answer: Answer = () => undefined;

beforeAll(async () => {
  server = await openServer();
  people = await makePeople(server);
  const { runtime_base: runtimeBase } = server.deps.config;
  gateway = await openTestGateway(server, { deps: { paths: { home: server.home, runtime_base: runtimeBase } } });
  const database = await gateway.makeDatabase(people.org);
  const place = { org: people.org, database_id: database.id, digest: digestOf("tree") };
  const manifest = anApplication(
    ["ingest"],
    ["/docs", "/again", "/raises"].map((path) => ({ ...aRowRoute("docs", ["title"], ["id"]), path })),
  );
  serviceId = await makeService(server, place, { manifest });
  await gateway.runPod({ id: serviceId, database_id: database.id }, 1, (req, res) => answer(req, res));
  await eventually(() => expect(gateway.table.byId(database.id)?.services[0]?.instance).toBe(1));
  key = await makeKey(server, people.org, people.owner, {
    name: "form",
    grants: [`access:cloud://${people.org.name}:main/services/ingest`],
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const params = () => ({ org: people.org.name, db: "main", service: "ingest" });
const call = (body: object, as = people.member) =>
  server.ask("serviceCall", {
    as,
    params: params(),
    body: { method: "POST", path: "/docs", api_key: key, ...body } as never,
  });
const traffic = async (query: Record<string, string> = {}, db = "main") =>
  (await server.ask("serviceTraffic", { as: people.member, params: { ...params(), db }, query } as never)).json;

describe("the form that calls a route", () => {
  test("sends the request like a client and shows the whole answer", async () => {
    let asked: unknown;
    answer = (req, res) => {
      let body = "";
      req.on("data", (piece) => (body += piece));
      req.on("end", () => {
        asked = { url: req.url, method: req.method, headers: req.headers, body };
        res.writeHead(201, { "content-type": "application/json", "x-own": "yes" }).end('{"id":9223372036854775807}');
      });
    };
    const made = await call({ path: "/docs?x=1", body: '{"n":9223372036854775807}', headers: { prefer: "minimal" } });
    const { endpoint } = (await server.ask("serviceShow", { as: people.member, params: params() })).json;
    expect(asked).toMatchObject({
      url: "/docs?x=1",
      method: "POST",
      body: '{"n":9223372036854775807}',
      headers: { prefer: "minimal", "x-forwarded-host": new URL(endpoint).host, "x-forwarded-for": "127.0.0.1" },
    });
    expect(made.json).toMatchObject({ status: 201, body: '{"id":9223372036854775807}', bytes: 26, is_cut: false });
    expect(made.json.headers).toContainEqual({ name: "x-own", value: "yes" });
    expect(made.json.request_id).toMatch(/^\S+$/);
    expect(made.json.ms).toBeGreaterThan(0);
  });

  test("needs a key: the gateway checks the sent key as for any client", async () => {
    const wrong = await makeKey(server, people.org, people.owner, {
      name: "wrong",
      grants: [`access:cloud://${people.org.name}:main/services/other`],
    });
    await eventually(async () => expect((await call({ api_key: wrong })).json).toMatchObject({ status: 403 }));
    const refused = (await call({ api_key: `${key}x` })).json;
    expect(JSON.parse(refused.body)).toMatchObject({ code: "unauthorized" });
    expect((await call({}, people.outsider)).status).toBe(404);
    for (const body of [
      { path: "http://127.0.0.1/" },
      { path: "/docs HTTP/1.1\r\nhost: x" },
      { headers: { host: "other" } },
      { headers: { "x-forwarded-for": "6.6.6.6" } },
      { headers: { "x-a": "b\r\nx-c: d" } },
      { api_key: "a\r\nb" },
    ]) {
      expect((await call(body)).json, JSON.stringify(body)).toMatchObject({ code: "invalid_request" });
    }
    // a `..` in the path cannot leave the service: the name stays in front of it
    expect((await call({ path: "/../other/docs" })).json.status).toBe(201);
  });

  test("shows the start of a long or interrupted answer, and marks it as cut", async () => {
    answer = (_req, res) => void res.end("é".repeat(400_000));
    const long = (await call({})).json;
    expect(long).toMatchObject({ status: 200, bytes: 512_000, is_cut: true });
    expect(long.body.length).toBe(256_000);
    answer = (_req, res) => {
      res.write("a part", () => res.destroy());
    };
    expect((await call({})).json).toMatchObject({ body: "a part", is_cut: true });
    answer = (_req, res) => void res.end(Buffer.from([0xff, 0xfe, 0x00]));
    expect((await call({})).json).toMatchObject({ body: null, content: "//4A", bytes: 3 });
  });

  test("sends a form with files and shows the file of the answer, up to a limit", async () => {
    const picture = Buffer.alloc(600_000, 0xff);
    let sent = Buffer.alloc(0);
    let type: unknown;
    answer = (req, res) => {
      const pieces: Buffer[] = [];
      req.on("data", (piece: Buffer) => pieces.push(piece));
      req.on("end", () => {
        sent = Buffer.concat(pieces);
        type = req.headers["content-type"];
        res.writeHead(200, { "content-type": "image/jpeg" }).end(sent);
      });
    };
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    const shown = (await call({ body: picture.toString("base64"), encoding: "base64", headers })).json;
    expect([sent.equals(picture), type]).toEqual([true, headers["content-type"]]);
    expect({ ...shown, content: shown.content.length }).toMatchObject({
      body: null,
      content: 800_000,
      bytes: 600_000,
      is_cut: false,
    });
    answer = (_req, res) => {
      res.writeHead(200, { "content-type": "video/mp4" }).end(Buffer.alloc(8_000_001, 0xff));
    };
    expect((await call({})).json).toMatchObject({ body: null, content: null, bytes: 8_000_000, is_cut: true });
  });

  test("describes its fields by the running release", async () => {
    const described = (await server.ask("serviceOpenapi", { as: people.member, params: params() })).json;
    expect(described.paths["/docs"].post.requestBody).toBeDefined();
    expect(described.servers[0].url).toContain("/ingest");
  });
});

describe("traffic of a service", () => {
  test("is shown by minute and route, with failures and latency, over all gateways", async () => {
    const databaseId = await makeDatabase(server, people.org, { name: "busy" });
    const id = await makeService(server, { org: people.org, database_id: databaseId, digest: digestOf("tree") });
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    let now = minute - 120_000;
    const ago = createTraffic({ ...server.deps, now: () => now });
    for (let at = 0; at < 98; at++) ago.count(id, { route: "POST /docs", status: 200, ms: 10 });
    ago.count(id, { route: "POST /docs", status: 422, ms: 1_000 });
    ago.count(id, { route: "POST /docs", status: 503, ms: 1_000 });
    ago.count(id, { route: "POST /docs", status: 400, ms: 1_000, has_failed: true });
    await ago.write();
    now = minute;
    for (let at = 0; at < 100; at++) ago.count(id, { route: `GET /made/up/${at}`, status: 404, ms: 1 });
    ago.count("00000000-0000-0000-0000-000000000000", { route: "GET /", status: 200, ms: 1 });
    await ago[Symbol.asyncDispose]();
    await using other = createTraffic({ ...server.deps, now: () => minute });
    other.count(id, { route: "POST /docs", status: 200, ms: 10 });
    await other.write();
    // the same numbers again, and one more
    other.count(id, { route: "POST /docs", status: 200, ms: 10 });
    await other.write();
    const told = await traffic({ minutes: "5" }, "busy");
    const docs = { route: "POST /docs", requests: 103, client_errors: 1, server_errors: 2 };
    expect(told.routes).toMatchObject([docs, { route: null, requests: 100, client_errors: 100 }]);
    expect(told.total).toMatchObject({ requests: 203, client_errors: 101, server_errors: 2 });
    expect(told.minutes).toHaveLength(5);
    const only = await traffic({ minutes: "5", route: "POST /docs" }, "busy");
    expect(only.total.requests).toBe(103);
    expect(Math.abs(only.total.p50_ms - 10)).toBeLessThan(1);
    expect(Math.abs(only.total.p99_ms - 1_000)).toBeLessThan(100);
    expect(only.minutes.map((minute: { requests: number }) => minute.requests).slice(-4)).toEqual(
      told.minutes.at(-1).at === new Date(minute).toISOString() ? [0, 101, 0, 2] : [101, 0, 2, 0],
    );
  });

  test("is counted only for valid keys, and kept while it cannot be written", async () => {
    const again = async () => (await traffic({ route: "POST /again" })).total.requests;
    answer = (_req, res) => void res.writeHead(200).end("{}");
    expect((await call({ path: "/again", api_key: "sk_no" })).json.status).toBe(401);
    expect((await call({ path: "/again" })).json.status).toBe(200);
    await eventually(async () => expect(await again()).toBe(1));
    const raised = async () => (await traffic({ route: "POST /raises" })).total;
    answer = (_req, res) => void res.writeHead(400, { "x-failed": "function_failed" }).end("{}");
    expect((await call({ path: "/raises" })).json.status).toBe(400);
    const failed = { requests: 1, client_errors: 0, server_errors: 1 };
    await eventually(async () => expect(await raised()).toMatchObject(failed));
    await using lost = createTraffic(server.deps);
    lost.count(serviceId, { route: "POST /again", status: 200, ms: 1 });
    await sql`alter table control.traffic rename to traffic_away`.execute(server.deps.db);
    await lost.write();
    await sql`alter table control.traffic_away rename to traffic`.execute(server.deps.db);
    expect(await again()).toBe(1);
    await lost.write();
    expect(await again()).toBe(2);
  });

  test("of an unused service is empty, with the requested number of minutes", async () => {
    const databaseId = await makeDatabase(server, people.org, { name: "quiet" });
    await makeService(server, { org: people.org, database_id: databaseId, digest: digestOf("tree") });
    const told = await traffic({}, "quiet");
    expect(told).toMatchObject({ total: { requests: 0, p50_ms: null }, routes: [] });
    expect(told.minutes).toHaveLength(60);
  });
});
