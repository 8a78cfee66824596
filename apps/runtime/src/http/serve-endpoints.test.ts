import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { answerError, JSON_HEADERS } from "@appdb/engine/answers/answers";
import type { CompiledRoute, RouteRequest } from "@appdb/engine/routes/route";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, describe, expect, test } from "vitest";
import { type ServedEndpoints, type ServedRoutes, serveEndpoints } from "./serve-endpoints.ts";

const log = createSilentLog();
let served: ServedEndpoints[] = [];

afterEach(async () => {
  for (const one of served) await one[Symbol.asyncDispose]();
  served = [];
});

/** Routes that echo their request; `/slow` answers on release; `/broken` throws an unexpected error. */
function fakeEndpoints(services = ["api"], parts: Partial<ServedRoutes> = {}): ServedRoutes {
  const route = (service: string, path: string, answer: (request: RouteRequest) => Promise<string>): CompiledRoute => ({
    service,
    method: "POST",
    path,
    uses_python: path === "/slow",
    takes_signal: path === "/slow",
    handle: async (request) => {
      try {
        return { status: 200, headers: JSON_HEADERS, body: await answer(request) };
      } catch (error) {
        return answerError(error, request.id, log);
      }
    },
  });
  return {
    services,
    answerQuery: async () => "[]",
    collect: async () => 0,
    routes: services.flatMap((service) => [
      route(service, "/docs", async ({ body }) => Buffer.from(body).toString()),
      route(service, "/bytes", async ({ body }) => JSON.stringify([...Buffer.from(body)])),
      route(service, "/broken", async () => {
        throw new Error("select secret from /srv/inner");
      }),
    ]),
    uses_python: false,
    openapi: (service) => ({ openapi: "3.1.0", info: { title: service } }),
    checkHealth: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
    ...parts,
  };
}

async function serve(endpoints: ServedRoutes, bodyBytes = 1_000): Promise<string> {
  const one = await serveEndpoints(endpoints, { host: "127.0.0.1", port: 0, log, body_bytes: bodyBytes });
  served.push(one);
  return `http://${one.address}:${one.port}`;
}

function post(url: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  return fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
}

const NUMBERS = { text: "appdb_workers 2\n", content_type: "text/plain; version=0.0.4" };

async function serveWithMetrics(endpoints: ServedRoutes): Promise<string> {
  const options = { host: "127.0.0.1", port: 0, log, body_bytes: 1_000, metrics: async () => NUMBERS };
  const one = await serveEndpoints(endpoints, options);
  served.push(one);
  return `http://${one.address}:${one.port}`;
}

describe("metrics", () => {
  test("this machine may read the metrics", async () => {
    const answer = await fetch(`${await serveWithMetrics(fakeEndpoints())}/metrics`);
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
      200,
      "text/plain; version=0.0.4",
      "appdb_workers 2\n",
    ]);
  });

  test("a route of the application on this path takes precedence", async () => {
    const endpoints = fakeEndpoints();
    const [first] = endpoints.routes;
    const routes = [...endpoints.routes, { ...(first as CompiledRoute), path: "/metrics" }];
    const url = await serveWithMetrics({ ...endpoints, routes });
    expect((await fetch(`${url}/metrics`)).status).toBe(405);
    expect(await (await post(`${url}/metrics`, "mine")).text()).toBe("mine");
  });
});

describe("one service", () => {
  test("passes exact bytes to a route and sends its answer unchanged", async () => {
    const url = await serve(fakeEndpoints());
    const answer = await post(`${url}/docs`, '{"n": 9007199254740993}');
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await answer.text()).toBe('{"n": 9007199254740993}');
  });

  test("joins a body in pieces, even when a character is split", async () => {
    const url = await serve(fakeEndpoints());
    const bytes = new TextEncoder().encode('{"t":"äöü€"}');
    const pieces = ReadableStream.from([...bytes].map((byte) => Uint8Array.of(byte)));
    const init = {
      method: "POST",
      body: pieces,
      duplex: "half" as const,
      headers: { "content-type": "application/json" },
    };
    expect(await (await fetch(`${url}/docs`, init)).json()).toEqual({ t: "äöü€" });
  });

  test("passes bytes that are not UTF-8 to the route unchanged", async () => {
    const url = await serve(fakeEndpoints());
    const answer = await post(`${url}/bytes`, Uint8Array.of(0x22, 0xff, 0x22));
    expect(await answer.text()).toBe("[34,255,34]");
  });

  test("uses a safe request id of the client in header and problem", async () => {
    const url = await serve(fakeEndpoints());
    const own = await post(`${url}/broken`, "{}", { "x-request-id": "my-1" });
    expect(own.headers.get("x-request-id")).toBe("my-1");
    expect(await own.json()).toMatchObject({ status: 500, code: "internal_error", instance: "my-1" });
    const odd = await post(`${url}/broken`, "{}", { "x-request-id": 'a" b' });
    const made = odd.headers.get("x-request-id");
    expect(made).toMatch(/^[\w-]+$/);
    expect(await odd.json()).toMatchObject({ instance: made });
  });

  test("hides an unexpected error's details and logs them with the id", async () => {
    const url = await serve(fakeEndpoints());
    const answer = await post(`${url}/broken`, "{}", { "x-request-id": "look-me-up" });
    expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(await answer.text()).not.toMatch(/select|srv/);
    expect(log.lines.filter((line) => "req" in line.fields && line.fields.req === "look-me-up")).toMatchObject([
      { level: "error", fields: { err: { message: "select secret from /srv/inner" } } },
    ]);
  });

  test.each([
    ["GET", "/broken", "POST, OPTIONS"],
    ["PUT", "/docs", "POST, GET, HEAD, OPTIONS"],
    ["POST", "/health", "GET, HEAD, OPTIONS"],
    // Fastify expects a body for this method and refuses it without a content type
    ["QUERY", "/health", "GET, HEAD, OPTIONS"],
  ])("refuses %s %s and lists the allowed methods", async (method, path, allow) => {
    const url = await serve(fakeEndpoints());
    const answer = await fetch(url + path, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe(allow);
    expect(await answer.json()).toMatchObject({ code: "method_not_allowed", status: 405 });
  });

  const PAGES = [
    "/docs",
    "/docs/assets/page.css",
    "/docs/assets/start.js",
    "/docs/assets/swagger-ui.css",
    "/openapi.json",
    "/health",
    "/metrics",
  ];

  test.each([...PAGES, "/list"])("%s answers HEAD as GET without a body and OPTIONS with its methods", async (path) => {
    const list: CompiledRoute = {
      ...(fakeEndpoints().routes[0] as CompiledRoute),
      method: "GET",
      path: "/list",
      handle: async () => ({ status: 200, headers: { ...JSON_HEADERS, etag: '"tag"' }, body: '{"rows":[]}' }),
    };
    const endpoints = fakeEndpoints();
    const url = (await serveWithMetrics({ ...endpoints, routes: [...endpoints.routes, list] })) + path;
    const own = { headers: { "x-request-id": `look-${path.length}` } };
    const [get, head, options] = [
      await fetch(url, own),
      await fetch(url, { ...own, method: "HEAD" }),
      await fetch(url, { ...own, method: "OPTIONS" }),
    ];
    expect([get.status, head.status, options.status]).toEqual([200, 200, 204]);
    for (const name of ["content-type", "content-length", "etag", "x-request-id"]) {
      expect(head.headers.get(name), name).toBe(get.headers.get(name));
    }
    expect(options.headers.get("allow")).toMatch(/GET, HEAD, OPTIONS$/);
    expect(options.headers.get("x-request-id")).toBe(`look-${path.length}`);
    expect(get.headers.get("x-request-id")).toBe(`look-${path.length}`);
    expect((await head.arrayBuffer()).byteLength).toBe(0);
    expect(options.headers.get("content-type")).toBeNull();
  });

  test.each([
    ["GET", "/nowhere", 404],
    ["OPTIONS", "/nowhere", 404],
    ["HEAD", "/broken", 405],
    ["POST", "/docs/", 404],
    ["GET", "/bro%ZZken", 422],
  ])("reports %s %s with the request id", async (method, path, status) => {
    const url = await serve(fakeEndpoints());
    const id = `told-${method}-${status}`;
    const answer = await fetch(url + path, { method, headers: { "x-request-id": id } });
    expect([answer.status, answer.headers.get("x-request-id")]).toEqual([status, id]);
    if (method !== "HEAD") expect(await answer.json()).toMatchObject({ instance: id });
    expect(log.lines.some((line) => "req" in line.fields && line.fields.req === id)).toBe(true);
  });

  test("an unknown path suggests the nearest one", async () => {
    const url = await serve(fakeEndpoints());
    const answer = await post(`${url}/dosc`, "{}");
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ code: "not_found", detail: expect.stringContaining("/docs") });
  });

  test("refuses a large body so that a writing client reads the reason", async () => {
    const url = await serve(fakeEndpoints());
    const answer = await post(`${url}/docs`, "x".repeat(1_001));
    expect(answer.status).toBe(413);
    expect(await answer.json()).toMatchObject({ code: "payload_too_large", meta: { body_bytes: 1_000 } });
    const huge = new Uint8Array(20_000_000);
    for (let time = 0; time < 5; time += 1) expect((await post(`${url}/docs`, huge)).status).toBe(413);
    const streamed = new Blob(["x".repeat(700), "y".repeat(700)]).stream();
    const init = {
      method: "POST",
      body: streamed,
      duplex: "half" as const,
      headers: { "content-type": "application/json" },
    };
    expect((await fetch(`${url}/docs`, init)).status).toBe(413);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", ""])("refuses content type %j", async (type) => {
    const url = await serve(fakeEndpoints());
    const body = new Blob(["{}"], { type });
    const answer = await fetch(`${url}/docs`, { method: "POST", body });
    expect(answer.status).toBe(415);
    expect(await answer.json()).toMatchObject({
      code: "unsupported_media_type",
      hint: expect.stringMatching(/json.*curl -F/),
    });
  });

  test("the refusal of a urlencoded form says how forms are sent", async () => {
    const url = await serve(fakeEndpoints());
    const answer = await fetch(`${url}/docs`, { method: "POST", body: new URLSearchParams({ a: "b" }) });
    expect(await answer.json()).toMatchObject({
      code: "unsupported_media_type",
      detail: expect.stringContaining("multipart/form-data"),
    });
  });

  test("the health check queries the database", async () => {
    const well = await serve(fakeEndpoints());
    expect(await (await fetch(`${well}/health`)).json()).toMatchObject({ status: "ok", services: ["api"] });
    const ill = await serve(
      fakeEndpoints(["api"], {
        checkHealth: async () => {
          throw appError("database_unavailable", { detail: "PostgreSQL does not answer." });
        },
      }),
    );
    const answer = await fetch(`${ill}/health`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: "database_unavailable" });
  });

  test("the docs page coexists with a route of its name and works offline", async () => {
    const url = await serve(fakeEndpoints());
    const html = await (await fetch(`${url}/docs`)).text();
    expect(html).not.toMatch(/https?:\/\//);
    const assets = [...html.matchAll(/(?:src|href)="(docs[^"]+)"/g)].map((match) => match[1]);
    expect(assets).toHaveLength(4);
    for (const asset of assets) {
      const answer = await fetch(new URL(asset ?? "", `${url}/docs`));
      expect(answer.status).toBe(200);
      expect((await answer.text()).length).toBeGreaterThan(50);
    }
    expect((await post(`${url}/docs`, "{}")).status).toBe(200);
  });

  test("only pages of this machine may call it", async () => {
    const url = await serve(fakeEndpoints());
    const near = { origin: "http://localhost:5173", "access-control-request-method": "POST" };
    const preflight = await fetch(`${url}/docs`, { method: "OPTIONS", headers: near });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
    expect(preflight.headers.get("access-control-allow-methods")).toContain("POST");
    const answer = await post(`${url}/docs`, "{}", { origin: "http://localhost:5173" });
    expect(answer.headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
    const far = await fetch(`${url}/docs`, { method: "OPTIONS", headers: { ...near, origin: "https://evil.example" } });
    expect(far.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("several services", () => {
  test("are mounted by name with their own description and docs", async () => {
    const url = await serve(fakeEndpoints(["ingest", "search"]));
    for (const service of ["ingest", "search"]) {
      expect((await post(`${url}/${service}/docs`, "{}")).status).toBe(200);
      expect(await (await fetch(`${url}/${service}/openapi.json`)).json()).toMatchObject({
        info: { title: service },
        servers: [{ url: `/${service}` }],
      });
      expect((await fetch(`${url}/${service}/docs`)).status).toBe(200);
    }
    expect((await post(`${url}/docs`, "{}")).status).toBe(404);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });
});

describe("the server", () => {
  test("reports a port in use in one line", async () => {
    const url = new URL(await serve(fakeEndpoints()));
    const options = { host: "127.0.0.1", port: Number(url.port), log, body_bytes: 10 };
    await expect(serveEndpoints(fakeEndpoints(), options)).rejects.toMatchObject({
      code: "port_taken",
      message: `Port ${url.port} on 127.0.0.1 is in use by another program.`,
    });
  });

  test("answers invalid HTTP without other effects", async () => {
    const url = new URL(await serve(fakeEndpoints()));
    const text = await new Promise<string>((resolve, reject) => {
      const socket = createConnection(Number(url.port), "127.0.0.1", () => socket.write("NONSENSE\r\n\r\n"));
      let received = "";
      socket.on("data", (data) => (received += data));
      socket.on("close", () => resolve(received));
      socket.on("error", reject);
    });
    expect(text).toContain("HTTP/1.1 400");
    const id = /x-request-id: (\S+)/.exec(text)?.[1];
    expect(text).toContain(`"instance":"${id}"`);
    expect(log.lines.filter((line) => "req" in line.fields && line.fields.req === id)).toHaveLength(1);
    expect(text).toContain("application/problem+json");
    expect(text).toContain('"hint":');
    expect((await fetch(`${url}health`)).status).toBe(200);
  });

  test("waits for running requests when it closes", async () => {
    let finish: ((text: string) => void) | undefined;
    const endpoints = fakeEndpoints();
    const slow: CompiledRoute = {
      service: "api",
      method: "POST",
      path: "/slow",
      uses_python: true,
      takes_signal: true,
      handle: async () => ({
        status: 200,
        headers: JSON_HEADERS,
        body: await new Promise((resolve) => (finish = resolve)),
      }),
    };
    const one = await serveEndpoints(
      { ...endpoints, routes: [slow] },
      { host: "127.0.0.1", port: 0, log, body_bytes: 10 },
    );
    const answer = post(`http://127.0.0.1:${one.port}/slow`, "{}");
    await eventually(() => expect(finish).toBeDefined());
    const closed = one[Symbol.asyncDispose]();
    await sleep(20);
    finish?.('{"done":true}');
    expect(await (await answer).json()).toEqual({ done: true });
    await closed;
    await expect(fetch(`http://127.0.0.1:${one.port}/health`)).rejects.toThrow();
  });

  test("tells the route when a client disconnects", async () => {
    let seen: AbortSignal | undefined;
    const slow: CompiledRoute = {
      service: "api",
      method: "POST",
      path: "/slow",
      uses_python: true,
      takes_signal: true,
      handle: async ({ signal }) => {
        seen = signal;
        await new Promise((resolve) => signal?.addEventListener("abort", resolve));
        return { status: 200, headers: JSON_HEADERS, body: "{}" };
      },
    };
    const url = await serve({ ...fakeEndpoints(), routes: [slow] });
    const caller = new AbortController();
    const answer = fetch(`${url}/slow`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
      signal: caller.signal,
    });
    await eventually(() => expect(seen?.aborted).toBe(false));
    caller.abort();
    await expect(answer).rejects.toThrow();
    await eventually(() => expect(seen?.aborted).toBe(true));
  });
});
