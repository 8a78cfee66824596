import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { CompiledRoute } from "@appdb/engine/routes/route";
import type { LinkRequest } from "@appdb/pods/link/link";
import type { LinkAsked } from "@appdb/pods/link/serve-link";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type ServedSocket, serveOnSocket } from "../http/serve-endpoints.ts";
import { LinkCarrier } from "./carry-link.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { TrafficCounter } from "./traffic-counter.ts";
import { watchRequests } from "./watch-requests.ts";

const JSON_TYPE = { "content-type": "application/json" };
const BODY_BYTES = 100;
const base = { service: "ingest", uses_python: false, takes_signal: false } as const;
let seen: string[];
const answerText = (path: string, body: string | AsyncIterable<string>) => ({
  status: 200,
  headers: { "content-type": "text/plain", "x-route": path },
  body,
});

const docs: CompiledRoute = {
  ...base,
  method: "POST",
  path: "/docs",
  handle: async ({ body, caller, headers }) => {
    seen.push(`${caller?.id} ${String(body)} ${headers.host ?? "no host"}`);
    return answerText("/docs", "a row");
  },
};
const upload: CompiledRoute = {
  ...base,
  method: "POST",
  path: "/upload",
  streams: ["*"],
  takes_any_body: true,
  takes_signal: true,
  handle: async ({ route, signal, stream }) => {
    const count = async function* () {
      let bytes = 0;
      try {
        for await (const piece of stream ?? []) bytes += piece.length;
      } catch (error) {
        seen.push("cut");
        throw error;
      }
      yield `${bytes} bytes of ${route?.client?.[0]} below ${route?.root_path} by ${route?.scheme}`;
      if (signal?.aborted === true) seen.push("aborted");
    };
    return answerText("/upload", count());
  },
};

const listed: CompiledRoute = {
  ...base,
  method: "GET",
  path: "/listed",
  takes_address: true,
  handle: async ({ headers, route }) => {
    seen.push(String(headers.host ?? "no host"));
    return answerText("/listed", `${route?.scheme}://${route?.host}${route?.root_path}`);
  },
};
const file: CompiledRoute = {
  ...base,
  method: "GET",
  path: "/_media/{token}/{name}",
  takes_any_body: true,
  handle: async ({ caller, route }) => answerText("/_media", `${route?.params.name} for ${caller?.id}`),
};

const reads: CompiledRoute = {
  ...base,
  method: "ANY",
  path: "/reads/*",
  streams: ["*"],
  handle: async ({ caller }) => answerText("/reads", `${caller?.reads_media}`),
};
const readsNow: CompiledRoute = { ...reads, method: "POST", path: "/reads_now", streams: [] };

class CountedTraffic extends TrafficCounter {
  begun = 0;

  override begin(): void {
    this.begun += 1;
    super.begin();
  }
}

const log = createSilentLog();
const deps = {
  metrics: createRequestMetrics(() => 0),
  traffic: new CountedTraffic({ now: () => 0 }),
  logRequest: () => undefined,
};
const endpoints = {
  routes: [docs, upload, listed, file, reads, readsNow],
  services: ["ingest"],
  openapi: () => ({ openapi: "3.1.0", info: { title: "ingest", version: "1" }, paths: {} }),
  checkHealth: async () => undefined,
  uses_python: false,
  answerQuery: async () => "[]",
  collect: async () => 0,
  [Symbol.asyncDispose]: async () => undefined,
};
let folder: string;
let http: ServedSocket;
let carrier: LinkCarrier;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "carry-"));
  http = await serveOnSocket(endpoints, {
    socket: join(folder, "http.sock"),
    log,
    body_bytes: BODY_BYTES,
    prefix: "/ingest",
    needs_key: true,
    prepare: (app) =>
      watchRequests(app, {
        ...deps,
        keys: { check: () => expect.unreachable("the gateway checked it") },
        checkAddress(token) {
          if (token !== "good") throw appError("media_address_invalid", { detail: "It was changed." });
        },
      }),
  });
  carrier = new LinkCarrier(endpoints.routes, {
    ...deps,
    body_bytes: BODY_BYTES,
    prefix: "/ingest",
    listen: http.listen,
  });
});
afterAll(async () => {
  await http[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  seen = [];
});

async function* pieces(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

async function ask(method: string, path: string, more: Partial<LinkRequest> = {}, asked?: LinkAsked) {
  const request = {
    method,
    path,
    search: "",
    headers: {},
    body: Buffer.alloc(0),
    id: "r-1",
    caller: { id: "k", name: "form", reads_media: true },
    host: "x.test",
    client_address: "192.0.2.1",
    is_secure: true,
    ...more,
  };
  const answer = await carrier.handle(request, asked ?? { signal: new AbortController().signal, is_gone: false });
  const parts: Uint8Array[] = [];
  if (Buffer.isBuffer(answer.body)) parts.push(answer.body);
  else for await (const part of answer.body) parts.push(part);
  const named: Record<string, string> = {};
  for (let at = 0; at < answer.headers.length; at += 2) named[answer.headers[at] ?? ""] = answer.headers[at + 1] ?? "";
  return { status: answer.status, headers: named, text: Buffer.concat(parts).toString() };
}

test("a short request reaches its compiled route directly, others the HTTP server", async () => {
  const body = Buffer.from("{}");
  await ask("POST", "/docs", { body, headers: JSON_TYPE });
  expect(seen.splice(0)).toEqual(["k {} no host"]);
  for (const more of [
    { body, headers: { ...JSON_TYPE, origin: "https://a.example" } },
    { body, headers: { ...JSON_TYPE, accept: "text/event-stream" } },
    { body: pieces("{", "}"), headers: JSON_TYPE },
  ]) {
    expect(await ask("POST", "/docs", more)).toMatchObject({ status: 200, text: "a row" });
    expect(seen.splice(0)).toEqual(["k {} x.test"]);
  }
});

test("a streamed body reaches its handler with the address of the client", async () => {
  const asked = await ask("POST", "/upload", { body: pieces("ab", "cde"), headers: { "content-type": "text/csv" } });
  expect(asked).toMatchObject({ status: 200, text: "5 bytes of 192.0.2.1 below /ingest by https" });
});

test("a route whose answers have addresses is reached directly, with the host of the client", async () => {
  expect(await ask("GET", "/listed")).toMatchObject({ status: 200, text: "https://x.test/ingest" });
  expect(seen).toEqual(["no host"]);
  expect(await ask("GET", "/listed", { host: 'x"y', is_secure: false })).toMatchObject({ text: "http:///ingest" });
});

test("a signed address needs no key, and only a valid one counts as traffic", async () => {
  const { begun } = deps.traffic;
  const forged = await ask("GET", "/_media/forged/a.png", { caller: null });
  expect([forged.status, JSON.parse(forged.text).code]).toEqual([403, "media_address_invalid"]);
  expect(deps.traffic.begun).toBe(begun);
  expect(await ask("GET", "/_media/good/a.png", { caller: null })).toMatchObject({ text: "a.png for undefined" });
  expect(await ask("GET", "/_media/good/a.png")).toMatchObject({ text: "a.png for k" });
  expect((await ask("GET", "/_media/forged/a.png")).status).toBe(403);
  expect(deps.traffic.begun).toBe(begun + 2);
  await expect.poll(() => deps.traffic.in_flight).toBe(0);
});

test("each route learns whether the caller reads the media store, and headers do not change it", async () => {
  const body = Buffer.from("{}");
  const forged = { "x-reads-media": "true", caller: "k", "x-caller": '{"reads_media":true}' };
  const origin = { origin: "https://a.example" };
  for (const readsMedia of [true, false]) {
    const more = { caller: { id: "k", name: "form", reads_media: readsMedia }, body };
    const texts = [
      await ask("POST", "/reads_now", { ...more, headers: { ...JSON_TYPE, ...forged } }),
      await ask("POST", "/reads_now", { ...more, headers: { ...JSON_TYPE, ...forged, ...origin } }),
      await ask("PUT", "/reads/a", { ...more, headers: forged, body: pieces("a") }),
    ].map(({ text }) => text);
    expect(texts).toEqual(Array(3).fill(String(readsMedia)));
  }
  const preflight = { ...origin, "access-control-request-method": "PUT" };
  expect((await ask("OPTIONS", "/reads/a", { caller: null, headers: preflight })).text).toBe("false");
});

test("a request without a route gets the same answer as by HTTP", async () => {
  const large = { body: Buffer.alloc(BODY_BYTES + 1, " "), headers: { ...JSON_TYPE, "content-length": "101" } };
  const codes = [
    await ask("GET", "/none"),
    await ask("GET", "/upload"),
    await ask("POST", "/docs", large),
    await ask("POST", "/docs", { body: Buffer.from("a"), headers: { "content-type": "text/csv" } }),
    await ask("GET", "/openapi.json", { caller: null }),
  ];
  expect(codes.map(({ status, text }) => [status, JSON.parse(text).code])).toEqual([
    [404, "not_found"],
    [405, "method_not_allowed"],
    [413, "payload_too_large"],
    [415, "unsupported_media_type"],
    [401, "unauthorized"],
  ]);
  expect(await ask("GET", "/health", { caller: null })).toMatchObject({ status: 200 });
  const head = await ask("HEAD", "/openapi.json");
  expect([head.status, Number(head.headers["content-length"]) > 0, head.text]).toEqual([200, true, ""]);
});

test("a client that disconnects ends the request at its handler", async () => {
  const leaving = new AbortController();
  const asked = { signal: leaving.signal, is_gone: false };
  const waiting = async function* () {
    yield Buffer.from("a");
    leaving.abort(new Error("gone"));
    throw new Error("gone");
  };
  await expect(ask("POST", "/upload", { body: waiting(), headers: {} }, asked)).rejects.toThrow();
});

test("a body that was cut off ends at once for its handler", async () => {
  const leaving = new AbortController();
  const silent = async function* () {
    yield Buffer.from("a");
    leaving.abort(new Error("gone"));
    await new Promise(() => undefined);
  };
  const asked = { signal: leaving.signal, is_gone: false };
  await expect(ask("POST", "/upload", { body: silent(), headers: {} }, asked)).rejects.toThrow();
  await expect.poll(() => seen).toEqual(["cut"]);
});
