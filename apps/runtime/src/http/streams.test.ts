import { EventEmitter, once } from "node:events";
import { Agent, type IncomingMessage, request as openRequest } from "node:http";
import { createConnection } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { JSON_HEADERS, type RouteAnswer } from "@appdb/engine/answers/answers";
import type { CompiledRoute, RouteRequest } from "@appdb/engine/routes/route";
import { httpFetch } from "@appdb/system/network/http-fetch";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, expect, test } from "vitest";
import { BodyStream } from "./body-stream.ts";
import { type ServedEndpoints, type ServedRoutes, serveEndpoints } from "./serve-endpoints.ts";

const LINES = "application/x-ndjson";
let log = createSilentLog();
const stopping: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stopping.splice(0)) await stop();
});

type Handle = (request: RouteRequest) => Promise<Partial<RouteAnswer>>;

async function serve(handle: Handle, method: "POST" | "GET" = "POST"): Promise<ServedEndpoints> {
  log = createSilentLog();
  const route: CompiledRoute = {
    service: "api",
    method,
    path: "/rows",
    uses_python: false,
    takes_signal: method === "GET",
    streams: [LINES],
    handle: async (request) => ({ status: 200, headers: JSON_HEADERS, body: "", ...(await handle(request)) }),
  };
  const endpoints: ServedRoutes = {
    services: ["api"],
    routes: [route],
    uses_python: false,
    openapi: () => ({}),
    answerQuery: async () => "[]",
    collect: async () => 0,
    checkHealth: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const served = await serveEndpoints(endpoints, { host: "127.0.0.1", port: 0, log, body_bytes: 1_000 });
  stopping.push(async () => served[Symbol.asyncDispose]());
  return served;
}

function send(port: number, method = "POST", agent?: Agent, type = LINES) {
  const headers = method === "POST" ? { "content-type": type } : {};
  return openRequest({ port, host: "127.0.0.1", path: "/rows", method, headers, ...(agent && { agent }) });
}

async function answerOf(request: ReturnType<typeof send>): Promise<IncomingMessage> {
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return answer;
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of answer.setEncoding("utf8")) text += piece;
  return text;
}

async function count(stream: AsyncIterable<Uint8Array> | undefined): Promise<number> {
  let bytes = 0;
  for await (const piece of stream ?? []) bytes += piece.length;
  return bytes;
}

test("streams a very large body to the route with exact bytes", async () => {
  const wrong: number[] = [];
  let bytes = 0;
  const { port } = await serve(async ({ stream, body }) => {
    for await (const piece of stream ?? []) {
      for (const byte of piece) if (byte !== bytes++ % 251) wrong.push(bytes);
    }
    return { body: JSON.stringify({ bytes, body }) };
  });
  const request = send(port);
  const block = Buffer.from(Array.from({ length: 251 * 1_000 }, (_, at) => at % 251));
  for (let at = 0; at < 40; at += 1) if (!request.write(block)) await once(request, "drain");
  request.end();
  expect(await textOf(await answerOf(request))).toBe(`{"bytes":${block.length * 40},"body":""}`);
  expect(wrong).toEqual([]);
});

test.each([undefined, "gzip"])(
  "a body (%s) is read when the route asks for it, and a dropped one to its end",
  async (encoding) => {
    const requestOf = () =>
      Object.assign(new PassThrough(), { headers: { "content-encoding": encoding } }) as unknown as IncomingMessage &
        PassThrough;
    const body = encoding === undefined ? Buffer.from("12345") : gzipSync("12345");
    const [read, dropped] = [requestOf(), requestOf()];
    const stream = new BodyStream(read, new AbortController().signal);
    if (encoding === undefined) expect(read.readableFlowing).toBe(null);
    read.end(body);
    expect(await count(stream)).toBe(5);
    new BodyStream(dropped, new AbortController().signal).drop();
    dropped.end(body);
    await once(dropped, "end");
  },
);

test("a body whose client has disconnected before it is read ends at once", async () => {
  const request = Object.assign(new PassThrough(), { headers: {} }) as unknown as IncomingMessage & PassThrough;
  request.destroy();
  await once(request, "close");
  await expect(count(new BodyStream(request, new AbortController().signal))).rejects.toThrow("aborted");
  const reason = new Error("the client disconnected");
  await expect(count(new BodyStream(request, AbortSignal.abort(reason)))).rejects.toBe(reason);
});

test("a slow route slows its client down", async () => {
  let goOn: (() => void) | undefined;
  const { port } = await serve(async ({ stream }) => {
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    return { body: String(await count(stream)) };
  });
  const request = send(port);
  const block = Buffer.alloc(1_000_000);
  let written = 0;
  request.on("drain", () => undefined);
  request.flushHeaders();
  await eventually(() => expect(goOn).toBeDefined());
  // Fills the buffers of both sockets.
  while (written < 200) {
    written += 1;
    if (request.write(block)) continue;
    const more = await Promise.race([once(request, "drain"), sleep(300)]);
    if (more === undefined) break;
  }
  expect(written).toBeLessThan(100);
  goOn?.();
  request.end();
  expect(await textOf(await answerOf(request))).toBe(String(written * block.length));
});

test("a client that disconnects in its body ends stream and signal", async () => {
  const seen: unknown[] = [];
  let begun = 0;
  const { port } = await serve(async ({ stream, signal }) => {
    try {
      for await (const piece of stream ?? []) begun += piece.length;
    } catch (error) {
      seen.push(error === signal?.reason, signal?.aborted);
    }
    return {};
  });
  const request = send(port);
  request.on("error", () => undefined);
  request.write("first");
  await eventually(() => expect(begun).toBe(5));
  request.destroy();
  await eventually(() => expect(seen).toEqual([true, true]));
});

test("a route that ignores its body answers at once and keeps the connection", async () => {
  const { port } = await serve(async ({ stream }) => {
    for await (const _ of stream ?? []) break;
    return { status: 422, body: "no" };
  });
  const client = createConnection(port, "127.0.0.1");
  stopping.unshift(async () => void client.destroy());
  let received = "";
  client.on("data", (data) => (received += data));
  for (let time = 1; time <= 3; time += 1) {
    client.write(`POST /rows HTTP/1.1\r\nhost: a\r\ncontent-type: ${LINES}\r\ncontent-length: 20000000\r\n\r\n`);
    for (let at = 0; at < 20; at += 1) if (!client.write(Buffer.alloc(1_000_000))) await once(client, "drain");
    await eventually(() => expect(received.match(/HTTP\/1.1 422 .*?\r\n\r\nno/gs)).toHaveLength(time));
  }
});

test("a refusal reaches a client that has megabytes left to send", async () => {
  const { port } = await serve(async ({ stream }) => {
    for await (const _ of stream ?? []) break;
    return { status: 422, body: "no" };
  });
  const headers = { "content-type": LINES };
  for (let time = 0; time < 50; time += 1) {
    const body = Readable.from(Array.from({ length: 200 }, () => Buffer.alloc(65_536)));
    const answer = await httpFetch(`http://127.0.0.1:${port}/rows`, { method: "POST", headers, body });
    expect([answer.status, await answer.text()]).toEqual([422, "no"]);
  }
});

test("reads other content types of a streaming route completely or refuses them", async () => {
  const { port } = await serve(async ({ body, stream }) => ({ body: `${body} ${stream === undefined}` }));
  const json = send(port, "POST", undefined, "application/json");
  json.end("{}");
  expect(await textOf(await answerOf(json))).toBe("{} true");
  const parameters = send(port, "POST", undefined, "Application/X-NDJSON; charset=utf-8");
  parameters.end("{}");
  expect(await textOf(await answerOf(parameters))).toBe(" false");
  const csv = send(port, "POST", undefined, "text/csv");
  csv.end("a,b");
  expect((await answerOf(csv)).statusCode).toBe(415);
});

test("streams a complete answer at the reader's pace", async () => {
  let made = 0;
  const block = "x".repeat(100_000);
  const { port } = await serve(async () => ({
    body: (async function* () {
      for (; made < 300; made += 1) yield block;
    })(),
  }));
  const request = send(port);
  request.end("{}");
  const answer = await answerOf(request);
  await sleep(200);
  expect(made).toBeLessThan(200);
  expect((await textOf(answer)).length).toBe(300 * block.length);
  expect(answer.headers).toMatchObject({ "transfer-encoding": "chunked", "x-request-id": expect.any(String) });
});

test("a reader that disconnects ends the answer's stream", async () => {
  let hasEnded = false;
  const { port } = await serve(async () => ({
    body: (async function* () {
      try {
        for (;;) yield "x".repeat(10_000);
      } finally {
        hasEnded = true;
      }
    })(),
  }));
  const request = send(port);
  request.on("error", () => undefined);
  request.end("{}");
  const answer = await answerOf(request);
  answer.on("error", () => undefined);
  answer.destroy();
  await eventually(() => expect(hasEnded).toBe(true));
  expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
});

test("an aborted answer is visible to its reader and logged", async () => {
  const reader = new EventEmitter();
  const { port } = await serve(async () => ({
    body: (async function* () {
      const hasBegun = once(reader, "begun");
      yield "[1,";
      await hasBegun;
      throw new Error("the rest is lost");
    })(),
  }));
  const request = send(port);
  request.end("{}");
  const answer = await answerOf(request);
  answer.once("data", () => reader.emit("begun"));
  await expect(textOf(answer)).rejects.toThrow("aborted");
  expect(log.lines).toMatchObject([
    { level: "error", fields: { req: answer.headers["x-request-id"], err: { message: "the rest is lost" } } },
  ]);
  // HTTP/1.0 has no chunks, so the end of the connection would be the end of the body.
  const old = createConnection(port, "127.0.0.1");
  old.write("POST /rows HTTP/1.0\r\ncontent-type: application/x-ndjson\r\ncontent-length: 2\r\n\r\n{}");
  let received = "";
  // A reset that arrives with data looks like a normal end to this client's library (libuv, uv__stream_io).
  old.on("data", (data) => {
    received += data;
    if (received.endsWith("[1,")) reader.emit("begun");
  });
  const [error] = (await once(old, "error")) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ECONNRESET");
});

test("HEAD does not start a stream and keeps its connection", async () => {
  let runs = 0;
  const { port } = await serve(
    async () => ({
      body: (async function* () {
        runs += 1;
        yield "rows";
      })(),
    }),
    "GET",
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  stopping.unshift(async () => agent.destroy());
  const texts: string[] = [];
  for (const method of ["HEAD", "GET", "HEAD", "GET"]) {
    const request = send(port, method, agent);
    request.end();
    texts.push(await textOf(await answerOf(request)));
  }
  expect(texts).toEqual(["", "rows", "", "rows"]);
  expect(runs).toBe(2);
});

test("stopping waits for finite streams and ends endless ones", async () => {
  const streams = [true, false].map((isEndless) => async () => ({
    is_endless: isEndless,
    body: (async function* () {
      yield "first,";
      await sleep(150);
      yield "second,";
      while (isEndless) {
        yield "more,";
        await sleep(20);
      }
      yield "last";
    })(),
  }));
  for (const stream of streams) {
    const served = await serve(stream);
    const request = send(served.port);
    request.end("{}");
    // the stream has started
    const text = textOf(await answerOf(request));
    await served[Symbol.asyncDispose]();
    stopping.pop();
    expect(await text).toMatch(stream === streams[0] ? /^first,$/ : /^first,second,last$/);
  }
});
