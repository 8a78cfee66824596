import { once } from "node:events";
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { request } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { connect as connectTls } from "node:tls";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createNotifications } from "../database/notifications.ts";
import { openControlDatabase } from "../database/pool.ts";
import { createKeySnapshots } from "../edge/key-snapshots.ts";
import { makeDatabase } from "../testing/databases.ts";
import { makeCertificate } from "../testing/make-certificate.ts";
import { openServer, type TestServer, testMasterKey } from "../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../testing/people.ts";
import { openTestGateway, type StubPod, type TestGateway } from "../testing/test-gateway.ts";
import { readCertificate, watchCertificate } from "./acme/certificate.ts";

const DOMAIN = "apps.test";
/** Another address of this machine, used as a proxy. */
const PROXY = "127.0.0.2";
const log = createSilentLog();
let folder: string;
let files: { cert_file: string; key_file: string };
let server: TestServer;
let gateway: TestGateway;
let people: TestPeople;
let key: string;
let host: string;
let pod: StubPod;
let port: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-tls-"));
  files = makeCertificate(folder, "first", DOMAIN);
  server = await openServer();
  gateway = await openTestGateway(server, {
    config: { domain: DOMAIN, port: 0, tls: files, access_log: "all" },
    limits: { request_ms: 3_000, client_ms: 500 },
    deps: { trusted_proxies: [PROXY], log },
  });
  port = gateway.port ?? 0;
  people = await makePeople(server);
  key = await makeKey(server, people.org, people.owner, { name: "caller" });
  const id = await makeDatabase(server, people.org);
  const service = await gateway.makeService(people.org, id);
  pod = await gateway.runPod(service, 1);
  const cookies = await gateway.makeService(people.org, id, "cookies");
  await gateway.runPod(cookies, 1, (_req, res) => {
    res.setHeader("set-cookie", [`a=1; Domain=.${DOMAIN}; Path=/`, "b=2; HttpOnly"]);
    res.end("{}");
  });
  await gateway.serve(cookies, 1);
  const endless = await gateway.makeService(people.org, id, "endless");
  await gateway.runPod(endless, 1, (_req, res) => void pipeline(zeros(), res, () => undefined));
  await gateway.serve(endless, 1);
  await gateway.serve(service, 1);
  host = await eventually(() => {
    const database = gateway.table.byId(id);
    expect(database?.services.map(({ instance }) => instance)).toEqual([1, 1, 1]);
    return `${database?.label}.${DOMAIN}`;
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Responses that were not read to the end. */
let left = 0;
async function* zeros() {
  try {
    for (;;) yield Buffer.alloc(65_536);
  } finally {
    left += 1;
  }
}

const tls = () => ({ ca: readFileSync(files.cert_file), servername: `x.${DOMAIN}` });

interface Got {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

async function get(
  asked: string,
  to = port,
  shown = key,
  more: { path?: string; localAddress?: string; headers?: Record<string, string> } = {},
): Promise<Got> {
  return await new Promise((resolve, reject) => {
    const { path = "/ingest/docs", localAddress = "127.0.0.1" } = more;
    const headers = { host: asked, "x-api-key": shown, ...more.headers };
    const call = request(
      { host: "127.0.0.1", port: to, path, headers, agent: false, localAddress, ...tls() },
      (answer) => {
        let text = "";
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers }));
      },
    );
    call.on("error", reject).end();
  });
}

async function withSession<T>(work: (session: ClientHttp2Session) => Promise<T>): Promise<T> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, tls());
  session.on("error", () => undefined);
  try {
    return await work(session);
  } finally {
    session.destroy();
  }
}

test("a host below the domain reaches its database; other hosts reach nothing", async () => {
  expect(await get(host)).toMatchObject({ status: 200, text: expect.stringContaining('"x-forwarded-proto":"https"') });
  expect(await get(`${host.toUpperCase()}:${port}`)).toMatchObject({ status: 200 });
  for (const other of [DOMAIN, `other.${DOMAIN}`, `x.${host}`, `${host}.evil.test`, "127.0.0.1", ""]) {
    expect((await get(other)).status, other).toBe(404);
  }
});

test("only a trusted proxy may set address and host", async () => {
  const headers = { "x-forwarded-for": "6.6.6.6, 203.0.113.7", "x-forwarded-host": host };
  const by = (localAddress: string) => get("inner.test", port, key, { localAddress, headers });
  const told = await by(PROXY);
  expect(told.status).toBe(200);
  expect(JSON.parse(told.text).headers).toMatchObject({
    host,
    "x-forwarded-for": "203.0.113.7",
    "x-forwarded-host": host,
    "x-forwarded-proto": "https",
  });
  const clients = () => log.lines.map(({ fields }) => ("client" in fields ? fields.client : undefined));
  await eventually(() => expect(clients()).toContain("203.0.113.7"));
  expect((await by("127.0.0.3")).status).toBe(404);
  await eventually(() => expect(clients()).toContain("127.0.0.3"));
});

test("every https answer has HSTS", async () => {
  const said = [await get(host), await get(host, port, `${key}x`), await get("other.test")];
  expect(said.map(({ status }) => status)).toEqual([200, 401, 404]);
  for (const { headers } of said) expect(headers["strict-transport-security"]).toBe("max-age=31536000");
});

test("the access log has the reason of a refusal", async () => {
  await get(host, port, key, { headers: { "x-request-id": "good" } });
  await get(host, port, `${key}x`, { headers: { "x-request-id": "refused" } });
  const line = (req: string) => log.lines.find(({ fields }) => "req" in fields && fields.req === req)?.fields;
  await eventually(() => expect(line("refused")).toMatchObject({ status: 401, code: "unauthorized" }));
  expect(line("good")).not.toHaveProperty("code");
});

test("a service sets cookies only for its own host", async () => {
  const { headers } = await get(host, port, key, { path: "/cookies/docs" });
  expect(headers["set-cookie"]).toEqual(["a=1; Path=/", "b=2; HttpOnly"]);
});

test("a browser without a key gets the key page at /docs", async () => {
  const text = await withSession(async (session) => {
    const stream = session.request({ ":path": "/any/docs", ":authority": host, accept: "text/html" });
    let got = "";
    for await (const chunk of stream) got += chunk;
    return got;
  });
  expect(text).toContain("API key");
});

test("HTTP/2 streams bodies and answers like HTTP/1.1", async () => {
  const text = await withSession(async (session) => {
    const headers = {
      ":method": "POST",
      ":path": "/ingest/docs?a=b",
      ":authority": host,
      "x-api-key": key,
      cookie: ["a=1", "b=2"],
    };
    const stream = session.request(headers);
    stream.write("one ");
    stream.end("two");
    let got = "";
    for await (const chunk of stream) got += chunk;
    return got;
  });
  expect(JSON.parse(text)).toMatchObject({
    method: "POST",
    url: "/docs?a=b",
    body: "one two",
    headers: { host, cookie: "a=1; b=2", "transfer-encoding": "chunked" },
  });
});

test("an HTTP/2 client that stalls is disconnected like one of HTTP/1.1", async () => {
  await withSession(async (session) => {
    const to = (path: string) => ({ ":method": "POST", ":path": path, ":authority": host, "x-api-key": key });
    const stopped = ["application/json", "text/csv"].map((type) => {
      const stream = session.request({ ...to("/ingest/docs"), "content-type": type, "content-length": "900" });
      stream.write("{");
      return stream;
    });
    const greedy = session.request(to("/endless/docs"), { endStream: true });
    greedy.pause();
    const page = session.request({ ":path": "/x/docs/assets/swagger-ui-bundle.js", ":authority": host });
    page.pause();
    const answers = await Promise.all(stopped.map((stream) => once(stream, "response")));
    expect(answers.map(([headers]) => headers[":status"])).toEqual([408, 408]);
    await eventually(() => expect([left, page.closed]).toEqual([1, true]));
    expect((await get(host)).status).toBe(200);
  });
});

test("a gateway that starts without PostgreSQL uses saved routes and keys from a private file", async () => {
  const stateFile = join(folder, "gateway.json");
  const config = { domain: DOMAIN, port: 0, tls: files };
  {
    await using first = await openTestGateway(server, { config, deps: { state_file: stateFile } });
    expect((await get(host, first.port)).status).toBe(200);
  }
  expect(statSync(stateFile).mode & 0o077).toBe(0);
  const log = createSilentLog();
  await using down = openControlDatabase("postgresql:///none?host=/nowhere", log);
  await using notifications = createNotifications(down.pool.options, log);
  const snapshots = createKeySnapshots({
    db: down.db,
    log,
    notifications,
    master_key: testMasterKey(server.deps.config),
  });
  const deps = { state_file: stateFile, db: down.db, notifications, snapshots, log };
  await using second = await openTestGateway(server, { config, deps });
  expect((await get(host, second.port)).status).toBe(200);
  expect((await get(host, second.port, `${key}x`)).status).toBe(401);
  expect(log.lines.map(({ message }) => message)).toContain(
    "the gateway uses its last known routes: PostgreSQL does not answer",
  );
});

test("plain http is not answered", async () => {
  const got = await new Promise<string>((resolve) => {
    const socket = connect({ host: "127.0.0.1", port }, () =>
      socket.write(`GET /ingest/docs HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
    );
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
  });
  expect(got).not.toContain("HTTP/1.1");
});

test("resetting new streams ends the connection, and other clients are served meanwhile", async () => {
  await withSession(async (session) => {
    await new Promise((resolve) => session.once("remoteSettings", resolve));
    const before = pod.requests.length;
    let opened = 0;
    const tick = () => new Promise((resolve) => setImmediate(resolve));
    while (!session.closed && !session.destroyed && opened < 20_000) {
      const streams = Array.from({ length: 100 }, () =>
        session.request({ ":path": "/ingest/docs", ":authority": host, "x-api-key": key }),
      );
      for (const stream of streams) stream.on("error", () => undefined);
      // a reset before the request is sent would drop it silently
      await tick();
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      opened += streams.length;
      await tick();
    }
    expect(opened).toBeLessThan(20_000);
    expect(pod.requests.length - before).toBeLessThan(5_000);
    expect((await get(host)).status).toBe(200);
  });
});

test("a renewed certificate is used without a restart; an expiring one is logged", async () => {
  const log = createSilentLog();
  const first = readCertificate(files);
  const shown: Buffer[] = [];
  let now = Date.now();
  const renewed = makeCertificate(folder, "renewed", DOMAIN);
  const live = { cert_file: join(folder, "live.pem"), key_file: join(folder, "live.key") };
  const put = (from: typeof renewed) => {
    renameSync(from.key_file, live.key_file);
    renameSync(from.cert_file, live.cert_file);
  };
  put(makeCertificate(folder, "former", DOMAIN));
  const former = readCertificate(live);
  using _watch = watchCertificate(
    { log, files: live, domain: DOMAIN, look_ms: 10, now: () => now, take: ({ cert }) => shown.push(cert) },
    former,
  );
  put(renewed);
  await eventually(() => expect(shown).toEqual([readCertificate(live).cert]));
  now += 29 * 86_400_000;
  await eventually(() =>
    expect(log.lines.map(({ message }) => message)).toContain("the gateway's certificate expires soon"),
  );
  now += 2 * 86_400_000;
  await eventually(() =>
    expect(log.lines.map(({ message }) => message)).toContain(
      "the gateway's certificate has expired: clients refuse it",
    ),
  );
  expect(first.cert.equals(former.cert)).toBe(false);
});

test("the running gateway loads it too", async () => {
  const before = await serialOf();
  const next = makeCertificate(folder, "next", DOMAIN);
  renameSync(next.key_file, files.key_file);
  renameSync(next.cert_file, files.cert_file);
  await eventually(async () => expect(await serialOf()).not.toBe(before), { timeout_ms: 8_000, interval_ms: 200 });
});

async function serialOf(): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on("error", reject);
  });
}
