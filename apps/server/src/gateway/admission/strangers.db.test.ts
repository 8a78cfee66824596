import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDatabase } from "../../testing/databases.ts";
import { makeCertificate } from "../../testing/make-certificate.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../../testing/people.ts";
import { type Answer, openTestGateway, type TestGateway } from "../../testing/test-gateway.ts";

const DOMAIN = "apps.test";
const CLIENT_MS = 400;
const PLACES = 64;
const SETTINGS = { sleep_after: "15m", vars: {}, db_input_media_dest: null, db_output_media_dest: null };
const CORS = {
  origins: ["https://app.example"],
  methods: null,
  headers: null,
  credentials: false,
  max_age_s: 60,
};

let folder: string;
let server: TestServer;
let gateway: TestGateway;
let people: TestPeople;
let key: string;
let ca: Buffer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-strangers-"));
  const tls = makeCertificate(folder, "first", DOMAIN);
  ca = readFileSync(tls.cert_file);
  server = await openServer();
  gateway = await openTestGateway(server, {
    config: { domain: DOMAIN, port: 0, tls },
    limits: { client_ms: CLIENT_MS, in_flight: PLACES, address_connections: 40 },
  });
  people = await makePeople(server);
  key = await makeKey(server, people.org, people.owner, { name: "caller" });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

let count = 0;
async function openService(answer?: Answer) {
  const id = await makeDatabase(server, people.org, { name: `db${++count}` });
  const service = await gateway.makeService(people.org, id);
  await gateway.runPod(service, 1, answer);
  await gateway.serve(service, 1);
  return { id, host: `${gateway.table.byId(id)?.label}.${DOMAIN}` };
}

async function openSleeping(cors: object | null) {
  const name = `asleep${++count}`;
  const id = await makeDatabase(server, people.org, {
    name,
    state: "STOPPED",
    desired: { is_awake: false, settings: { ...SETTINGS, wake_on_request: true } },
  });
  const service = await gateway.makeService(people.org, id);
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
  const { label } = await eventually(() => {
    const entry = gateway.table.byId(id);
    expect(entry?.services[0]).toBeDefined();
    expect(entry?.services[0]?.cors ?? null).toEqual(cors);
    return entry as NonNullable<typeof entry>;
  });
  const state = async () =>
    (await server.deps.db.selectFrom("control.databases").select("state").where("id", "=", id).executeTakeFirst())
      ?.state;
  return { name, state, host: `${label}.${DOMAIN}` };
}

function openSession(settings: { initialWindowSize?: number } = {}): ClientHttp2Session & Disposable {
  const session = connectHttp2(`https://127.0.0.1:${gateway.port}`, { ca, servername: `x.${DOMAIN}`, settings });
  session.on("error", () => undefined);
  return Object.assign(session, { [Symbol.dispose]: () => session.destroy() });
}

async function ask(host: string, headers: Record<string, string>, session = openSession()) {
  try {
    const stream = session.request({ ":authority": host, ...headers });
    const status = new Promise<Record<string, unknown>>((resolve, reject) => {
      stream.once("response", resolve);
      stream.once("error", reject);
      stream.once("close", () => reject(new Error("The stream ended without an answer.")));
    });
    const got = await status;
    let text = "";
    for await (const piece of stream) text += piece;
    return { status: got[":status"], headers: got, text, json: text.startsWith("{") ? JSON.parse(text) : undefined };
  } finally {
    session.destroy();
  }
}

const HEALTH = { ":path": "/ingest/health" };
const preflight = (origin: string) => ({
  ":method": "OPTIONS",
  ":path": "/ingest/docs",
  origin,
  "access-control-request-method": "POST",
});

test("a request without a valid key wakes no sleeping database", async () => {
  const { host, name, state } = await openSleeping(null);
  // the gateway gets the state a moment later
  const health = await eventually(async () => {
    const answer = await ask(host, HEALTH);
    expect(answer.json).toMatchObject({ status: 503, code: "database_asleep" });
    return answer;
  });
  expect(health.text).not.toContain(name);
  expect(health.text).not.toContain(people.org.name);
  expect((await ask(host, preflight("https://app.example"))).json).toMatchObject({ code: "database_asleep" });
  expect((await ask(host, { ":path": "/ingest/docs", "x-api-key": `${key}x` })).status).toBe(401);
  expect((await ask(host, { ":path": "/ingest/docs" })).status).toBe(401);
  expect((await ask(host, { ":path": "/ingest/docs", accept: "text/html" })).status).toBe(200);
  expect(await state()).toBe("STOPPED");
});

test("the gateway answers a preflight to a sleeping service by its release", async () => {
  const { host, state } = await openSleeping(CORS);
  const allowed = await ask(host, preflight("https://app.example"));
  expect(allowed.status).toBe(204);
  expect(allowed.headers["access-control-allow-origin"]).toBe("https://app.example");
  const refused = await ask(host, preflight("https://other.example"));
  expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([204, undefined]);
  expect(await state()).toBe("STOPPED");
});

/** Opens streams that block their answers, and keeps their connections alive. */
function openHolders(host: string, sessions: number, streams: number, headers: Record<string, string>) {
  const opened: ClientHttp2Stream[] = [];
  const open = Array.from({ length: sessions }, () => {
    const session = openSession({ initialWindowSize: 0 });
    session.once("remoteSettings", () => {
      for (let at = 0; at < streams; at += 1) {
        const stream = session.request({ ":authority": host, ...headers });
        stream.on("error", () => undefined);
        opened.push(stream);
      }
    });
    return session;
  });
  const pings = setInterval(() => {
    for (const session of open) if (!session.destroyed) session.ping(() => undefined);
  }, CLIENT_MS / 8);
  return {
    opened,
    [Symbol.dispose]: () => {
      clearInterval(pings);
      for (const session of open) session.destroy();
    },
  };
}

test("a request without a key cannot announce a body", async () => {
  const { host } = await openService();
  const session = openSession();
  const headers = { ":authority": host, ":method": "GET", ...HEALTH, "content-length": "10" };
  const [answer] = (await once(session.request(headers, { endStream: false }), "response")) as [object];
  expect(answer).toMatchObject({ ":status": 413 });
  session.destroy();
  expect((await ask(host, HEALTH)).status).toBe(200);
});

test("clients without a key that read no answers occupy no slot of a service", async () => {
  const { host } = await openService();
  using holders = openHolders(host, 4, PLACES, HEALTH);
  await eventually(() => expect(holders.opened).toHaveLength(4 * PLACES));
  await eventually(() => expect(holders.opened.filter((stream) => stream.sentHeaders)).toHaveLength(4 * PLACES));
  const call = { ":path": "/ingest/docs", "x-api-key": key };
  for (let at = 0; at < 10; at += 1) expect((await ask(host, call)).status).toBe(200);
  await eventually(() => expect(holders.opened.filter((stream) => !stream.closed)).toEqual([]));
});

test("clients with a key that read no answers occupy no slot of a service", async () => {
  const { host } = await openService();
  const call = { ":path": "/ingest/docs", "x-api-key": key };
  using holders = openHolders(host, 2, PLACES, call);
  await eventually(() => expect(holders.opened).toHaveLength(2 * PLACES));
  await eventually(async () => expect((await ask(host, call)).status).toBe(200));
  await eventually(() => expect(holders.opened.filter((stream) => !stream.closed)).toEqual([]));
  expect((await ask(host, call)).status).toBe(200);
});

test("a health check that never answers times out", async () => {
  const { host } = await openService(() => undefined);
  expect((await ask(host, HEALTH)).json).toMatchObject({ status: 504, code: "service_timeout" });
});

test("connections from one address are limited", async () => {
  const { host } = await openService();
  const sessions = Array.from({ length: 60 }, () => openSession());
  const open = () => sessions.filter((session) => !session.destroyed && !session.connecting);
  await eventually(() => expect(sessions.filter((session) => session.destroyed).length).toBeGreaterThanOrEqual(20));
  await eventually(() => expect(open()).toHaveLength(40));
  for (const session of sessions) session.destroy();
  await eventually(async () => expect((await ask(host, HEALTH)).status).toBe(200));
});
