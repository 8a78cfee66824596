import { randomBytes } from "node:crypto";
import { type EventEmitter, once } from "node:events";
import { rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect as connectHttp2, createServer as createHttp2 } from "node:http2";
import { connect, createServer, type Server, type Socket } from "node:net";
import { FrameReader, FrameWriter, KIND } from "@appdb/pods/link/frames";
import { LINK_VERSIONS, type LinkAnswer } from "@appdb/pods/link/link";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../testing/people.ts";
import { type Answer, type LinkHandler, openTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import type { GatewayRequest, GatewayResponse } from "./exchange/exchange.ts";
import { answerProblem } from "./forward/answer-problem.ts";
import { beginAnswer } from "./forward/begin-answer.ts";

const CLIENT_MS = 400;
const REQUEST_MS = 1_000;
const JSON_TYPE = { "content-type": "application/json" };

let server: TestServer;
let gateway: TestGateway;
let people: TestPeople;
let key: string;
/** A service that is not attacked. */
let other: string;

beforeAll(async () => {
  server = await openServer();
  gateway = await openTestGateway(server, { limits: { request_ms: REQUEST_MS, client_ms: CLIENT_MS, in_flight: 4 } });
  people = await makePeople(server);
  key = await makeKey(server, people.org, people.owner, { name: "caller" });
  other = (await openService()).url;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

let count = 0;
async function makeIdleService() {
  const database = await gateway.makeDatabase(people.org, { name: `db${++count}` });
  const service = await gateway.makeService(people.org, database.id);
  const serve = async () => {
    await gateway.serve(service, 1);
  };
  return { url: `${database.url}/ingest`, service, serve };
}

async function openService(answer?: Answer) {
  const { serve, service, url } = await makeIdleService();
  const pod = await gateway.runPod(service, 1, answer);
  await serve();
  return { url, pod };
}

/** A service whose pod answers requests of the link, and WARM to `/docs?warm`. */
async function openLinked(handle: LinkHandler) {
  const { serve, service, url } = await makeIdleService();
  const pod = await gateway.runLinkPod(service, 1, async (asked, more) =>
    asked.path === "/docs" && asked.search === "warm" ? WARM : await handle(asked, more),
  );
  await serve();
  return { url, pod };
}

/** A service whose pod sends handwritten frames: `say` runs for the first request of each link. */
async function openLiar(say: (writer: FrameWriter, socket: Socket, number: number) => void) {
  const { serve, service, url } = await makeIdleService();
  const { link_socket: linkSocket } = await gateway.placePod(service, 1);
  const sockets = new Set<Socket>();
  const liar: Server = createServer((socket) => {
    sockets.add(socket);
    const reader = new FrameReader();
    const writer = new FrameWriter(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      reader.read(chunk, (kind, number) => {
        if (kind === KIND.hello) writer.send(KIND.hello, 0, Buffer.from(JSON.stringify({ version: LINK_VERSIONS[0] })));
        else if (kind === KIND.request) say(writer, socket, number);
      });
    });
  }).listen(linkSocket);
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    liar.close();
    await once(liar, "close");
    rmSync(linkSocket, { force: true });
  };
  await serve();
  return { url, close, service };
}
const WARM: LinkAnswer = { status: 200, headers: [], body: Buffer.from("warm") };
const POST = { method: "POST", body: "{}", headers: JSON_TYPE } as const;

async function call(url: string, init: RequestInit = {}) {
  const answer = await fetch(url, { ...init, headers: { "x-api-key": key, ...init.headers } });
  const text = await answer.text();
  return { status: answer.status, text, headers: answer.headers };
}

async function othersAreServed() {
  expect((await call(other)).status).toBe(200);
}

async function* piecesOf(...pieces: Uint8Array[]) {
  yield* pieces;
}

/** A raw connection for handwritten bytes. */
function openRaw(url: string) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let got = "";
  socket.on("data", (chunk) => (got += chunk.toString("latin1")));
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return { socket, got: () => got, closed };
}

describe("a malformed answer of a pod", () => {
  const EMPTY = Buffer.alloc(0);
  const answers: Record<string, (writer: FrameWriter, socket: Socket, number: number) => void> = {
    "a status below 200": (writer, _, number) => writer.sendHead(KIND.answer, number, [42, true, []], EMPTY),
    "a status that switches protocols": (writer, _, number) =>
      writer.sendHead(KIND.answer, number, [101, true, []], EMPTY),
    "a status above 999": (writer, _, number) => writer.sendHead(KIND.answer, number, [1200, true, []], EMPTY),
    "a control character": (writer, _, number) =>
      writer.sendHead(KIND.answer, number, [200, true, ["x-a", "a\u0001b"]], EMPTY),
    "endless headers": (writer, _, number) =>
      writer.sendHead(KIND.answer, number, [200, true, Array(400_000).fill("x-a")], EMPTY),
    "no head": (writer, _, number) => writer.send(KIND.answer, number, EMPTY),
    "a frame length above the maximum": (_, socket) => void socket.write(Buffer.alloc(9, 255)),
    "no frames": (_, socket) => void socket.write(Buffer.concat([Buffer.from([255, 255]), randomBytes(5_000)])),
    "a closed connection": (_, socket) => void socket.destroy(),
  };

  test.each(Object.keys(answers))("with %s is reported as broken, and other requests are served", async (name) => {
    const { close, service, url } = await openLiar((...to) => answers[name]?.(...to));
    const { status, text } = await call(`${url}/docs`, POST);
    expect([status, JSON.parse(text).code]).toEqual([502, "service_broken"]);
    expect(JSON.parse(text).hint).toMatch(/Idempotency-Key/);
    await othersAreServed();
    await close();
    // the gateway opens a new link after a broken one
    await gateway.runPod(service, 1);
    expect((await call(`${url}/docs`, POST)).text).toContain('"instance":1');
  });

  test("in valid frames is reported as broken, and the request ends at the pod too", async () => {
    let left = 0;
    const pieces = async function* () {
      try {
        for (;;) yield Buffer.alloc(1_000);
      } finally {
        left += 1;
      }
    };
    const heads: [number, string[]][] = [
      [200, ["bad name", "x"]],
      [200, ["x-a", "b\r\nx-c: d"]],
      [200, [":status", "200"]],
    ];
    const answers = heads.flatMap(([status, headers]) => [
      { status, headers, body: Buffer.from("{}") },
      { status, headers, body: pieces() },
    ]);
    let next = 0;
    const { url } = await openLinked(async () => {
      const answer = answers[next++];
      if (answer === undefined) throw new Error("no answer is left");
      return answer;
    });
    for (const { headers } of answers) {
      const { status, text } = await call(`${url}/docs`, POST);
      expect([status, JSON.parse(text).code], JSON.stringify(headers)).toEqual([502, "service_broken"]);
    }
    await eventually(() => expect(left).toBe(heads.length));
    await othersAreServed();
  });

  test("with a wrong length does not leak into another answer", async () => {
    const long = "{}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong";
    const headers = ["Content-Length", "2", "constructor", "x", "__proto__", "y", "connection", "a", "connection", "b"];
    const bodies = [Buffer.from(long), piecesOf(Buffer.from(long))];
    const { url } = await openLinked(async () => ({ status: 200, headers, body: bodies.shift() ?? Buffer.from("") }));
    const whole = await call(`${url}/docs`, POST);
    expect(whole.text).toBe(long);
    expect(whole.headers.get("constructor")).toBe("x");
    const raw = openRaw(url);
    const head = `POST /ingest/docs HTTP/1.1\r\nHost: x\r\nX-api-key: ${key}\r\nContent-Length: 0\r\n\r\n`;
    raw.socket.write(head + head);
    await raw.closed;
    expect(raw.got()).not.toContain("wrong");
    await othersAreServed();
  });
});

test("requests with a revoked key finish; the next one on the connection is refused", async () => {
  const held: (() => void)[] = [];
  const { url } = await openService((req, res) => {
    if (req.url === "/held") held.push(() => res.end("done"));
    else res.end("{}");
  });
  const short = await makeKey(server, people.org, people.owner, { name: "short" });
  using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
    [Symbol.dispose]: () => agent.destroy(),
  });
  const ask = async (path: string, by?: Agent) =>
    await new Promise<{ status: number; text: string; reused: boolean }>((resolve, reject) => {
      const asked = request(url + path, { agent: by, headers: { "x-api-key": short } }, (answer) => {
        let text = "";
        answer.on("data", (chunk) => (text += chunk));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text, reused: asked.reusedSocket }));
      });
      asked.on("error", reject).end();
    });
  await eventually(async () => expect((await ask("/docs", agent)).status).toBe(200));
  const underWay = ask("/held");
  await eventually(() => expect(held).toHaveLength(1));
  await server.ask("keyDelete", { as: people.owner, params: { org: people.org.name, name: "short" } });
  const refused = await eventually(async () => {
    const answer = await ask("/docs", agent);
    expect(answer.status).toBe(401);
    return answer;
  });
  expect(refused.reused).toBe(true);
  for (const release of held) release();
  expect(await underWay).toMatchObject({ status: 200, text: "done" });
});

describe("a slow client", () => {
  test("with headers, a body or nothing to send is refused and disconnected", async () => {
    const { url } = await openService();
    const head = `POST /ingest/docs HTTP/1.1\r\nHost: x\r\nX-api-key: ${key}\r\nContent-Type:`;
    const raws = [
      `${head} application/json\r\nX-slow: `,
      `${head} application/json\r\nContent-Length: 900\r\n\r\n{`,
      `${head} text/csv\r\nContent-Length: 900\r\n\r\na`,
      `${head} application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      // nothing at all
      "",
    ].map((text) => {
      const raw = openRaw(url);
      raw.socket.write(text);
      return raw;
    });
    const drip = setInterval(() => {
      for (const { socket } of raws.slice(0, 2)) if (socket.writable) socket.write("a");
    }, 50);
    try {
      await Promise.all(raws.map(({ closed }) => closed));
    } finally {
      clearInterval(drip);
    }
    for (const { got } of raws) expect(got()).toMatch(/^HTTP\/1\.1 408 /);
    await othersAreServed();
  });

  test("that does not read is disconnected after the silence limit of services", async () => {
    let ended = 0;
    const endless = async function* () {
      try {
        for (;;) yield Buffer.alloc(65_536);
      } finally {
        ended += 1;
      }
    };
    const { url } = await openLinked(async () => ({ status: 200, headers: [], body: endless() }));
    const raws = Array.from({ length: 4 }, () => {
      const raw = openRaw(url);
      raw.socket.pause().write(`GET /ingest/docs HTTP/1.1\r\nHost: x\r\nX-api-key: ${key}\r\n\r\n`);
      return raw;
    });
    try {
      const warm = () => call(`${url}/docs?warm`, POST);
      await eventually(async () => expect((await warm()).status).toBe(503));
      await eventually(async () => expect((await warm()).status).toBe(200));
      await eventually(() => expect(ended).toBe(4));
    } finally {
      for (const { socket } of raws) socket.destroy();
    }
  });
});

test("oversized headers and bodies are refused before they reach a service", async () => {
  const { url, pod } = await openService();
  const head = `POST /ingest/docs HTTP/1.1\r\nHost: x\r\nX-api-key: ${key}\r\n`;
  const send = async (text: string) => {
    const { socket, got, closed } = openRaw(url);
    socket.write(text);
    await closed;
    return got();
  };
  expect(await send(head + "x-a: b\r\n".repeat(100_000))).toMatch(/^HTTP\/1\.1 431 /);
  expect(await send(`${head}x-a: ${"b".repeat(1_000_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
  expect(await send(`POST /${"a".repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
  const huge = "Content-Type: application/json\r\nContent-Length: 9007199254740991\r\n\r\n";
  expect(await send(head + huge)).toMatch(/^HTTP\/1\.1 413 /);
  expect(await send(head.replace(key, "sk_no") + huge), "Expected no read of the body.").toMatch(/^HTTP\/1\.1 401 /);
  const endless = `${head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n`;
  expect(await send(endless)).toMatch(/^HTTP\/1\.1 (400|413) /);
  expect(pod.requests.map((asked) => asked.headers["content-length"])).toEqual([]);
  await othersAreServed();
});

test("over HTTP/2 a malformed answer leaves no response headers", async () => {
  const h2 = createHttp2();
  // typed by the events that the gateway handles
  const heard: EventEmitter = h2;
  heard.on("request", (req: GatewayRequest, res: GatewayResponse) => {
    const exchange = { req, res, service: "ingest", headers: {}, id: "1", has_failed: false };
    try {
      beginAnswer(exchange, 200, { "x-first": "a", "bad name": "b", "x-last": "c" });
    } catch (error) {
      answerProblem(exchange, error);
    }
  });
  await once(h2.listen(0, "127.0.0.1"), "listening");
  const address = h2.address();
  const session = connectHttp2(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
  try {
    const [headers] = await once(session.request({ ":path": "/" }), "response");
    expect(headers).toMatchObject({ ":status": 502, "content-type": "application/problem+json; charset=utf-8" });
    expect(headers).not.toHaveProperty("x-first");
  } finally {
    session.destroy();
    h2.close();
  }
});
