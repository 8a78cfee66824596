import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../testing/people.ts";
import { openTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { STRANGERS_OF_ADDRESS } from "./admission/strangers.ts";

const CLIENT_MS = 1_000;
const HELD_MS = 50;
const FILE_BYTES = 20_000_000;
const MULTIPART = "multipart/form-data; boundary=b";

let folder: string;
let server: TestServer;
let gateway: TestGateway;
let people: TestPeople;
let key: string;
let url: string;
let seen: string[];
let held: { now: number; most: number };
/** `left`: what the sender still had when the service got the first bytes. */
let uploaded: { bytes: number; left: number };
let left = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "appdb-signed-"));
  writeFileSync(join(folder, "film"), Buffer.alloc(FILE_BYTES, 1));
  server = await openServer();
  gateway = await openTestGateway(server, {
    limits: { client_ms: CLIENT_MS, body_bytes: 1_000, upload_bytes: FILE_BYTES, in_flight: 64 },
  });
  people = await makePeople(server);
  key = await makeKey(server, people.org, people.owner, { name: "caller" });
  const database = await gateway.makeDatabase(people.org, { name: "media" });
  const service = await gateway.makeService(people.org, database.id, "photos");
  seen = [];
  held = { now: 0, most: 0 };
  uploaded = { bytes: 0, left: 0 };
  await gateway.runPod(service, 1, (req, res) => {
    seen.push(`${req.method} ${req.url} ${req.caller?.name ?? "-"} ${req.headers["x-forwarded-host"]}`);
    if (req.method === "POST") {
      req.on("data", (piece: Buffer) => {
        if (uploaded.bytes === 0) uploaded.left = left;
        uploaded.bytes += piece.length;
      });
      req.on("end", () => res.end("received"));
      return;
    }
    if (req.url.startsWith("/_media/forged")) {
      res.statusCode = 403;
      res.end("forged");
    } else if (req.url.startsWith("/_media/held")) {
      held.now += 1;
      held.most = Math.max(held.most, held.now);
      setTimeout(() => {
        held.now -= 1;
        res.end("held");
      }, HELD_MS);
    } else {
      res.setHeader("content-type", "video/mp4");
      res.setHeader("content-length", FILE_BYTES);
      if (req.method === "HEAD") res.end();
      else createReadStream(join(folder, "film")).pipe(res);
    }
  });
  await gateway.serve(service, 1);
  url = `${database.url}/photos`;
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test("a signed address needs no key, and its service decides", async () => {
  const answer = await fetch(`${url}/_media/good/film.mp4`);
  expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, FILE_BYTES]);
  const { host } = new URL(url);
  expect(seen.at(-1)).toBe(`GET /_media/good/film.mp4 - ${host}`);
  expect((await fetch(`${url}/_media/forged/film.mp4`)).status).toBe(403);
  expect((await fetch(`${url}/_media/good/film.mp4`, { method: "HEAD" })).status).toBe(200);
  const before = seen.length;
  expect((await fetch(`${url}/_media/good/film.mp4`, { method: "POST" })).status).toBe(401);
  expect((await fetch(`${url}/_media/good/film.mp4`, { headers: { "x-api-key": "sk_no" } })).status).toBe(401);
  expect((await fetch(`${url}/_medial/good/film.mp4`)).status).toBe(401);
  expect(seen).toHaveLength(before);
  const keyed = await fetch(`${url}/_media/forged/film.mp4`, { headers: { "x-api-key": key } });
  expect([keyed.status, seen.at(-1)]).toEqual([403, `GET /_media/forged/film.mp4 caller ${host}`]);
});

test("a page of any origin may ask for a part of a file", async () => {
  const headers = {
    origin: "https://shop.example",
    "access-control-request-method": "GET",
    "access-control-request-headers": "range",
  };
  const preflight = await fetch(`${url}/_media/good/film.mp4`, { method: "OPTIONS", headers });
  expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
  expect(preflight.headers.get("access-control-allow-headers")).toContain("range");
  const route = await fetch(`${url}/docs`, { method: "OPTIONS", headers });
  expect(route.headers.get("access-control-allow-origin")).toBeNull();
});

test("an accepted download may take longer than a request without a key", async () => {
  const response = await fetch(`${url}/_media/good/film.mp4`);
  const reader = response.body?.getReader();
  let bytes = (await reader?.read())?.value?.length ?? 0;
  for (const until = Date.now() + 3 * CLIENT_MS; Date.now() < until; ) {
    await new Promise((resolve) => setTimeout(resolve, CLIENT_MS / 4));
    bytes += (await reader?.read())?.value?.length ?? 0;
  }
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) bytes += read.value.length;
  expect(bytes).toBe(FILE_BYTES);
});

test("more addresses than places wait for one", async () => {
  const count = STRANGERS_OF_ADDRESS + 20;
  const answers = await Promise.all(Array.from({ length: count }, () => fetch(`${url}/_media/held/photo.jpg`)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200));
  expect(held.most).toBeLessThanOrEqual(STRANGERS_OF_ADDRESS);
});

test("an upload streams to its service up to the limit for uploads", async () => {
  const upload = (bytes: number) => send(bytes, { "content-type": MULTIPART, "content-length": String(bytes) });
  expect(await upload(FILE_BYTES)).toBe(200);
  expect(uploaded.bytes).toBe(FILE_BYTES);
  expect(uploaded.left).toBeGreaterThan(FILE_BYTES / 2);
  expect(await upload(FILE_BYTES + 1)).toBe(413);
});

/** Posts generated bytes at the pace of the server. Resolves with the status. */
function send(bytes: number, headers: Record<string, string>): Promise<number> {
  const piece = Buffer.alloc(65_536);
  return new Promise((resolve, reject) => {
    const call = request(`${url}/photos`, { method: "POST", headers: { ...headers, "x-api-key": key } });
    left = bytes;
    let isAnswered = false;
    const next = () => {
      while (left > 0 && !isAnswered) {
        const part = piece.subarray(0, Math.min(left, piece.length));
        left -= part.length;
        if (!call.write(part)) return void call.once("drain", next);
      }
      if (!isAnswered) call.end();
    };
    call.on("response", (answer) => {
      isAnswered = true;
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    call.on("error", reject);
    next();
  });
}
