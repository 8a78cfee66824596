import { createConnection } from "node:net";
import type { InnerRoutes } from "@appdb/engine/endpoints/app-routes";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HandlerService, serveHandlers } from "../testing/handler-service.ts";

const APP = `
import asyncio, json, os, traceback

async def answer(send, status, body, headers=()):
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
        return
    path, method = scope["path"], scope["method"]
    if path == "/scope":
        told = {k: v for k, v in scope.items() if k in ("type", "method", "path", "root_path", "scheme", "http_version")}
        told["query"] = scope["query_string"].decode()
        told["own"] = dict(scope["headers"])[b"x-own"].decode("latin-1")
        told["state"] = scope["state"]["begun"]
        await answer(send, 200, json.dumps(told).encode(), [(b"content-type", b"application/json"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")])
    elif path == "/upload":
        size, pieces = 0, 0
        while True:
            event = await receive()
            size, pieces = size + len(event["body"]), pieces + 1
            if not event["more_body"]:
                break
        await answer(send, 200, json.dumps([size, pieces > 1]).encode())
    elif path == "/half":
        event = await receive()
        print("half got", len(event["body"]))
        await answer(send, 200, b"enough")
    elif path == "/ticks":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            for i in range(10_000):
                await send({"type": "http.response.body", "body": b"%d\\n" % i, "more_body": True})
                await asyncio.sleep(0.001)
        except OSError:
            print("ticks left")
    elif path == "/until_gone":
        print("waits")
        while (await receive())["type"] != "http.disconnect":
            pass
        print("saw the client go")
    elif path == "/inside":
        from appdb.http.worker import HttpWorker
        # As a router that is included in it does, from whatever task its middleware begins.
        await asyncio.create_task(HttpWorker.current.ask_route("slow", scope, b""))
    elif path == "/raises":
        raise ValueError("inside")
    elif path == "/answers_and_raises":
        await answer(send, 500, b"Internal Server Error")
        raise RuntimeError("behind its answer")
    elif path == "/silent":
        return
    elif path == "/split":
        await answer(send, 200, b"", [(b"x-a", b"1\\r\\nset-cookie: evil=1")])
    elif path == "/length":
        await answer(send, 200, b"four", [(b"content-length", b"40"), (b"transfer-encoding", b"chunked"), (b"connection", b"close")])
    elif path == "/head":
        await answer(send, 200, b"" if method == "HEAD" else b"body", [(b"x-method", method.encode())])
    elif path == "/cors":
        await answer(send, 204, b"", [(b"access-control-allow-origin", b"https://own.example")])
    elif path == "/docs":
        await answer(send, 200, b"own docs")
    else:
        await answer(send, 404, b"nothing here")

async def lifespan(scope, receive, send):
    await receive()
    scope["state"]["begun"] = "yes"
    await send({"type": "lifespan.startup.complete"})
    await receive()
    print("shut down")
    await send({"type": "lifespan.shutdown.complete"})
`;

let service: HandlerService;

beforeAll(async () => {
  service = await serveHandlers(APP);
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  expect(service.printed).toContain("shut down");
});

const call = (path: string, init: RequestInit = {}) => fetch(service.url + path, init);

describe("an application object", () => {
  test("is one service named after its module", () => {
    expect(service.manifest.services.map(({ name, routes }) => [name, routes])).toEqual([["app", []]]);
    expect(service.manifest.services[0]?.app).toMatchObject({ id: "app:app", routes: [], openapi: null });
  });

  test("gets ASGI requests with lifespan state and sends complete answers", async () => {
    const answer = await call("/scope?a=1&b=%20", { method: "PATCH", headers: { "x-own": "\u00e9" } });
    expect(await answer.json()).toEqual({
      type: "http",
      method: "PATCH",
      path: "/scope",
      root_path: "",
      scheme: "http",
      http_version: "1.1",
      query: "a=1&b=%20",
      own: "\u00e9",
      state: "yes",
    });
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });

  test("logs exceptions behind its own 500 answers", async () => {
    expect((await call("/answers_and_raises")).status).toBe(500);
    await eventually(() => expect(service.printed).toContain("RuntimeError: behind its answer"));
    const line = service.logged.find(({ fields }) => fields["path"] === "/answers_and_raises");
    expect(line).toMatchObject({ level: "error", message: "request failed", fields: { status: 500 } });
  });

  test("reads large bodies in pieces or ignores the rest", async () => {
    const body = "x".repeat(5_000_000);
    expect(await (await call("/upload", { method: "PUT", body })).json()).toEqual([5_000_000, true]);
    expect(await (await call("/half", { method: "POST", body })).text()).toBe("enough");
    expect(await (await call("/head")).text()).toBe("body");
  });

  test("streams its answer and notices when the client disconnects", async () => {
    const leaving = new AbortController();
    const answer = await call("/ticks", { signal: leaving.signal });
    const reader = answer.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toMatch(/^0\n/);
    leaving.abort();
    await eventually(() => expect(service.printed).toContain("ticks left"));
    const { hostname, port } = new URL(service.url);
    const socket = createConnection(Number(port), hostname);
    socket.write("GET /until_gone HTTP/1.1\r\nhost: x\r\n\r\n");
    await eventually(() => expect(service.printed).toContain("waits"));
    socket.destroy();
    await eventually(() => expect(service.printed).toContain("saw the client go"));
  });

  test("ends mounted routes early when the client disconnects", async () => {
    let signal: AbortSignal | undefined;
    const inside: InnerRoutes = {
      answer: (_route, _head, _data, outer) => {
        signal = outer?.signal;
        const answer = { status: 503, headers: [], data: new Uint8Array() };
        return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(answer)));
      },
      problem: () => Promise.reject(new Error("nothing has failed")),
    };
    await using slow = await serveHandlers(APP, { inside });
    const client = new AbortController();
    const asked = fetch(`${slow.url}/inside`, { signal: client.signal });
    await eventually(() => expect(signal?.aborted).toBe(false));
    client.abort();
    await expect(asked).rejects.toThrow();
    await eventually(() => expect(signal?.aborted).toBe(true));
  });

  test("calls mounted routes as the caller of the request", async () => {
    const caller = { id: "k1", reads_media: false };
    const seen: unknown[] = [];
    const inside: InnerRoutes = {
      async answer(_route, _head, _data, outer) {
        seen.push(outer?.caller);
        return { status: 503, headers: [], data: new Uint8Array() };
      },
      problem: () => Promise.reject(new Error("nothing has failed")),
    };
    await using keyed = await serveHandlers(APP, { inside, caller });
    await fetch(`${keyed.url}/inside`, { headers: { caller: "none" } });
    await using open = await serveHandlers(APP, { inside });
    await fetch(`${open.url}/inside`);
    expect(seen).toEqual([caller, undefined]);
  });

  test("answers HEAD, CORS and /docs; /openapi.json and /health belong to the service", async () => {
    expect((await call("/head", { method: "HEAD" })).headers.get("x-method")).toBe("HEAD");
    const cors = await call("/cors", { method: "OPTIONS", headers: { origin: "http://localhost:1" } });
    expect([cors.status, cors.headers.get("access-control-allow-origin")]).toEqual([204, "https://own.example"]);
    expect(await (await call("/docs")).text()).toBe("own docs");
    expect(await (await call("/health")).json()).toMatchObject({ status: "ok" });
    expect(await (await call("/openapi.json")).json()).toMatchObject({ openapi: "3.1.0", info: { title: "app" } });
    expect(await (await call("/elsewhere")).text()).toBe("nothing here");
  });

  test.each([
    ["/raises", "ValueError: inside"],
    ["/silent", "it returned without sending a response"],
    ["/split", "the header 'x-a' holds a control character"],
  ])("that sends no valid answer is named: %s", async (path, detail) => {
    const answer = await call(path);
    const problem = (await answer.json()) as { code: string; detail: string };
    expect([answer.status, problem.code]).toEqual([400, "function_failed"]);
    expect(problem.detail).toContain(detail);
    expect(answer.headers.get("set-cookie")).toBe(null);
  });

  test("cannot set connection headers: wrong lengths have no effect", async () => {
    const answer = await call("/length");
    expect([answer.headers.get("content-length"), await answer.text()]).toEqual(["4", "four"]);
  });
});

describe("a file with an application object", () => {
  test("that cannot start reports the reason", async () => {
    const source = `
async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no key"})
`;
    await using broken = await serveHandlers(source);
    const answer = await fetch(`${broken.url}/`);
    expect(await answer.json()).toMatchObject({ status: 503, code: "worker_unavailable" });
  });

  test("refuses a router that is not mounted in it", async () => {
    const source = "async def app(scope, receive, send): pass\nrouter = Router(name='r')\n";
    await expect(serveHandlers(source)).rejects.toThrow("The router 'router' is not in the application object 'app'.");
  });
});
