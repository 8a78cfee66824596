import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { answerError, JSON_HEADERS, type RouteAnswer } from "@appdb/engine/answers/answers";
import type { Endpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { CompiledRoute, RouteRequest } from "@appdb/engine/routes/route";
import { parseBody } from "@appdb/engine/rows/parse-body";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ServedEndpoints, serveEndpoints } from "./serve-endpoints.ts";

const BODY_BYTES = 10_000;
let served: ServedEndpoints;
/** Complete bodies that reached a route. */
let arrived: unknown[];
let gone: number;

beforeEach(async () => {
  arrived = [];
  gone = 0;
  const log = createSilentLog();
  const route: CompiledRoute = {
    service: "api",
    method: "POST",
    path: "/rows",
    uses_python: false,
    takes_signal: true,
    streams: ["application/x-ndjson"],
    handle: async (request): Promise<RouteAnswer> => {
      try {
        const body = request.stream === undefined ? parseBody(request.body).members : await size(request);
        arrived.push(body);
        return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(body) };
      } catch (error) {
        if (request.signal?.aborted === true) gone += 1;
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
  const endpoints: Partial<Endpoints> = {
    services: ["api"],
    routes: [route],
    uses_python: false,
    openapi: () => ({}),
    checkHealth: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  served = await serveEndpoints(endpoints as Endpoints, { host: "127.0.0.1", port: 0, log, body_bytes: BODY_BYTES });
});

afterEach(async () => {
  await served[Symbol.asyncDispose]();
});

async function size({ stream }: RouteRequest): Promise<number> {
  let bytes = 0;
  for await (const piece of stream ?? []) bytes += piece.length;
  return bytes;
}

async function post(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const answer = await fetch(`http://127.0.0.1:${served.port}/rows`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  return { status: answer.status, json: JSON.parse(await answer.text()) };
}

const gzip = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(gzipSync(text));

/** Opens a connection, sends these bytes and collects the answer. */
async function open(text: string): Promise<{ socket: Socket; received: () => string }> {
  let received = "";
  const socket = createConnection(served.port, "127.0.0.1");
  socket.on("data", (data) => (received += data));
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(text);
  return { socket, received: () => received };
}

const head = (length: number | string, more = "") =>
  `POST /rows HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${more}\r\n`;

test("unpacks gzip bodies of JSON and of lines", async () => {
  const packed = { "content-encoding": "gzip" };
  expect(await post(gzip('{"a":1}'), packed)).toEqual({ status: 200, json: { a: 1 } });
  const lines = { ...packed, "content-type": "application/x-ndjson" };
  expect(await post(gzip('{"a":1}\n'.repeat(100_000)), lines)).toEqual({ status: 200, json: 800_000 });
  expect(await post('{"a":1}', { "content-encoding": "identity" })).toMatchObject({ status: 200 });
});

test("refuses a small body that unpacks to a large one", async () => {
  const bomb = gzip(`{"a":"${"x".repeat(50_000_000)}"}`);
  const refused = await post(bomb, { "content-encoding": "gzip" });
  expect(refused).toMatchObject({ status: 413, json: { code: "payload_too_large", meta: { body_bytes: BODY_BYTES } } });
  expect(await post("{}")).toMatchObject({ status: 200 });
});

test.each(["application/json", "application/x-ndjson"])("reports invalid or incomplete gzip (%s)", async (type) => {
  const headers = { "content-type": type, "content-encoding": "gzip" };
  const other = await post('{"a":1}', headers);
  expect(other).toMatchObject({ status: 400, json: { code: "invalid_encoding" } });
  const cut = await post(gzip('{"a":1}').slice(0, -9), headers);
  expect(cut).toMatchObject({ status: 400, json: { detail: "The body ends before its gzip data is complete." } });
  expect(arrived).toEqual([]);
});

test.each(["br", "deflate", "gzip, gzip", "zstd"])(
  "refuses a body packed by %s and names supported encodings",
  async (encoding) => {
    for (const type of ["application/json", "application/x-ndjson"]) {
      const refused = await post("{}", { "content-encoding": encoding, "content-type": type });
      expect(refused).toMatchObject({ status: 415, json: { hint: expect.stringContaining("content-encoding: gzip") } });
    }
  },
);

test("refuses charsets other than UTF-8 and accepts names of UTF-8", async () => {
  for (const charset of ["iso-8859-1", '"utf-16"', "latin1"]) {
    const refused = await post("{}", { "content-type": `application/json; charset=${charset}` });
    expect(refused).toMatchObject({
      status: 415,
      json: { code: "unsupported_media_type", hint: "Send the body in UTF-8." },
    });
  }
  for (const charset of ["utf-8", "UTF8", '"utf-8"', "us-ascii"]) {
    expect(await post("{}", { "content-type": `application/json; charset=${charset}` })).toMatchObject({ status: 200 });
  }
});

test("refuses bytes that are not UTF-8", async () => {
  const refused = await post(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d));
  expect(refused).toMatchObject({ status: 400, json: { code: "invalid_json", detail: "The body is not UTF-8." } });
});

test("an aborted body is not reported as invalid HTTP", async () => {
  const socket = createConnection(served.port, "127.0.0.1");
  await once(socket, "connect");
  socket.write('POST /rows HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":');
  socket.end();
  let answer = "";
  socket.on("data", (chunk: Buffer) => {
    answer += chunk.toString();
  });
  await once(socket, "close");
  expect(answer).toBe("");
});

test("suggests NDJSON for large bodies and wrong types", async () => {
  const url = `http://127.0.0.1:${served.port}/rows`;
  const json = { "content-type": "application/json" };
  const large = await fetch(url, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ a: "x".repeat(BODY_BYTES) }),
  });
  expect([large.status, await large.text()]).toEqual([413, expect.stringContaining("application/x-ndjson")]);
  const other = await fetch(url, { method: "POST", headers: { "content-type": "text/csv" }, body: "a" });
  expect([other.status, await other.text()]).toEqual([415, expect.stringContaining("application/x-ndjson")]);
});

test("uses the last of duplicate keys in an object", async () => {
  expect(await post('{"a":1,"a":2}')).toEqual({ status: 200, json: { a: 2 } });
});

test("a body that ends before its length never reaches a route", async () => {
  const { socket, received } = await open(`${head(100)}{"a":1}`);
  socket.end();
  await once(socket, "close");
  expect(arrived).toEqual([]);
  expect(received()).not.toContain("HTTP/1.1 200");
  expect(await post("{}")).toMatchObject({ status: 200 });
});

test("cuts a body at its length and ignores the rest", async () => {
  const { socket, received } = await open(`${head(2)}{}{"a":1}`);
  await once(socket, "close");
  expect(arrived).toEqual([{}]);
  expect(received()).toMatch(/HTTP\/1\.1 400 Bad Request/);
});

test.each(["-1", "abc", "1e3", "99999999999999999999"])("refuses %s as an invalid length", async (length) => {
  const { socket, received } = await open(`${head(length)}{}`);
  await once(socket, "close");
  expect(received()).toMatch(/^HTTP\/1\.1 400 Bad Request/);
  expect(arrived).toEqual([]);
});

test("refuses two lengths, or a length with chunks", async () => {
  for (const more of ["content-length: 5\r\n", "transfer-encoding: chunked\r\n"]) {
    const { socket, received } = await open(`${head(2, more)}{}`);
    await once(socket, "close");
    expect(received()).toMatch(/^HTTP\/1\.1 400 Bad Request/);
  }
  expect(arrived).toEqual([]);
});

test("refuses a megabyte of headers without other effects", async () => {
  const { socket, received } = await open(
    `POST /rows HTTP/1.1\r\nhost: a\r\nx-large: ${"x".repeat(1_000_000)}\r\n\r\n`,
  );
  await once(socket, "close");
  expect(received()).toMatch(/^HTTP\/1\.1 431 /);
  expect(received()).toContain("payload_too_large");
  expect(await post("{}")).toMatchObject({ status: 200 });
});

test("treats a client that half-closes during a stream as disconnected", async () => {
  const { socket } = await open(
    'POST /rows HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{"a":1}\n\r\n',
  );
  socket.end();
  await eventually(() => expect(gone).toBe(1));
  expect(arrived).toEqual([]);
});
