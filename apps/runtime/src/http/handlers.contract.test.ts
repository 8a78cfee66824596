import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HandlerService, serveHandlers } from "../testing/handler-service.ts";

const APP = `
import asyncio
from dataclasses import dataclass
from datetime import date

router = Router(name="api", prefix="/v1")

@dataclass
class Point:
    x: int
    y: float = 2.0

@router.get("/items/{item_id}")
def show(item_id: int, q: str | None = None, n: list[int] = [], day: date = date(2026, 1, 2)):
    """Shows an item.

    And more of it."""
    return {"id": item_id, "q": q, "n": n, "day": day}

@router.get("/items/first")
def first():
    return "first"

@router.post("/points", status_code=201)
async def make(point: Point, twice: bool = False):
    await asyncio.sleep(0.01)
    return [point, point] if twice else point

@router.put("/pairs")
def pairs(left: dict, right: dict[str, int], n: int = 1):
    return [left, right, n]

@router.get("/count")
def count(to: int = 3):
    for i in range(to):
        yield {"i": i}

@router.get("/ticks")
async def ticks():
    for i in range(3):
        await asyncio.sleep(0.01)
        yield f"tick {i};"

@router.patch("/echo/{name}")
def echo(name: str, request: Request):
    return {"name": name, "method": request.method, "path": request.path, "query": request.query,
            "type": request.headers.get("Content-Type"), "body": list(request.body)}

@router.post("/read/plain")
def read_plain(request: Request):
    return [request.json(), request.text(), request.body().decode(), len(request.body)]

@router.post("/read/awaited")
async def read_awaited(request: Request):
    return [await request.json(), await request.text(), (await request.body()).decode(), len(request.body)]

@router.post("/packed")
def packed(request: Request):
    return [request.headers.get("content-encoding"), request.headers.get("content-length"), request.text()]

@router.delete("/items/{item_id}")
def drop(item_id: int):
    if item_id == 1:
        raise HTTPError(404, "There is no item 1.", headers={"x-why": "gone"})
    if item_id == 2:
        raise KeyError("secret")
    if item_id == 3:
        return Response("<b>3</b>", 202, {"x-one": "1"}, "text/html")
    if item_id == 4:
        return object()
    if item_id == 5:
        return Response("x", headers={"x-evil": "a\\r\\nset-cookie: b=c"})
    if item_id == 6:
        return {"n": float("nan")}
    if item_id == 7:
        return b"\\x00\\xff"
    if item_id == 8:
        raise SystemExit(3)
    if item_id == 9:
        raise HTTPError(409, {"message": "taken", "by": [1]})
    if item_id == 11:
        return Response("x", headers={"trailer": "x-sum", "connection": "close", "x-kept": "1"})
    if item_id == 10:
        raise HTTPError(409, {"by": object()})
    return None
`;

let service: HandlerService;

beforeAll(async () => {
  service = await serveHandlers(APP);
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

function call(method: string, path: string, body?: unknown): Promise<Response> {
  const init =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  return fetch(`${service.url}/v1${path}`, { method, ...init });
}

async function refusal(answer: Response): Promise<[number, string, unknown]> {
  expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
  const { status, code, errors } = (await answer.json()) as { status: number; code: string; errors?: unknown };
  expect(status).toBe(answer.status);
  return [status, code, errors];
}

describe("handler inputs", () => {
  test("path and query parameters, converted to their types", async () => {
    const answer = await call("GET", "/items/7?q=a%20b&n=1&n=2&day=2026-03-04");
    expect([answer.status, await answer.json()]).toEqual([200, { id: 7, q: "a b", n: [1, 2], day: "2026-03-04" }]);
    expect(await (await call("GET", "/items/7")).json()).toEqual({ id: 7, q: null, n: [], day: "2026-01-02" });
  });

  test("prefers a path without parameters to one with them", async () => {
    expect(await (await call("GET", "/items/first")).json()).toBe("first");
  });

  test("a body as a dataclass or as several parameters", async () => {
    const made = await call("POST", "/points?twice=yes", { x: 1 });
    expect([made.status, await made.json()]).toEqual([
      201,
      [
        { x: 1, y: 2 },
        { x: 1, y: 2 },
      ],
    ]);
    const pairs = await call("PUT", "/pairs?n=4", { left: { a: [null] }, right: { b: 2 } });
    expect(await pairs.json()).toEqual([{ a: [null] }, { b: 2 }, 4]);
  });

  test("the request itself, with a body of any type", async () => {
    const answer = await fetch(`${service.url}/v1/echo/%C3%A4%20b?x=1&x=2`, {
      method: "PATCH",
      body: new Uint8Array([0, 255, 10]),
      headers: { "content-type": "image/x-own" },
    });
    expect(await answer.json()).toEqual({
      name: "ä b",
      method: "PATCH",
      path: "/v1/echo/%C3%A4%20b",
      query: { x: "2" },
      type: "image/x-own",
      body: [0, 255, 10],
    });
  });

  test.each(["plain", "awaited"])("JSON, text and bytes of the request, %s", async (way) => {
    const answer = await call("POST", `/read/${way}`, { a: [1] });
    expect(await answer.json()).toEqual([{ a: [1] }, '{"a":[1]}', '{"a":[1]}', 9]);
    const headers = { "content-type": "application/json" };
    const broken = await fetch(`${service.url}/v1/read/${way}`, { method: "POST", body: "{", headers });
    expect((await refusal(broken)).slice(0, 2)).toEqual([400, "invalid_json"]);
    const text = await fetch(`${service.url}/v1/read/${way}`, { method: "POST", body: "{}" });
    expect((await refusal(text)).slice(0, 2)).toEqual([415, "unsupported_media_type"]);
  });

  test("long path values, and refusal of values that are not UTF-8", async () => {
    const name = "\u00fc".repeat(2_000);
    expect(await (await call("PATCH", `/echo/${encodeURIComponent(name)}`)).json()).toMatchObject({ name });
    const broken = (await (await call("PATCH", "/echo/%ff")).json()) as { code: string; detail: string };
    expect(broken).toMatchObject({
      code: "invalid_request",
      detail: "The path /v1/echo/%ff contains a % that does not start a UTF-8 character.",
    });
  });

  test("an unpacked body without its content encoding", async () => {
    const init = { method: "POST", body: gzipSync("plain"), headers: { "content-encoding": "gzip" } };
    expect(await (await fetch(`${service.url}/v1/packed`, init)).json()).toEqual([null, null, "plain"]);
    const plain = await fetch(`${service.url}/v1/packed`, { method: "POST", body: "plain" });
    expect(await plain.json()).toEqual([null, "5", "plain"]);
  });

  test("refuses invalid values with their location before the function runs", async () => {
    expect(await refusal(await call("GET", "/items/seven?n=1&n=x&qq=1"))).toEqual([
      422,
      "invalid_request",
      [
        { pointer: "/item_id", detail: 'Expected a whole number, got "seven".' },
        { pointer: "/n/1", detail: 'Expected a whole number, got "x".' },
        { pointer: "/qq", detail: "No parameter named 'qq'. Did you mean 'q'?" },
      ],
    ]);
    expect(await refusal(await call("POST", "/points", { y: "2", z: 1 }))).toEqual([
      422,
      "invalid_request",
      [
        { pointer: "/y", detail: "Expected a number, got a text." },
        { pointer: "/z", detail: "Point has no member 'z'. Known: x, y." },
        { pointer: "/x", detail: "The member 'x' is required." },
      ],
    ]);
    const broken = await fetch(`${service.url}/v1/points`, {
      method: "POST",
      body: '{"x":',
      headers: { "content-type": "application/json" },
    });
    expect((await refusal(broken)).slice(0, 2)).toEqual([400, "invalid_json"]);
    const text = await fetch(`${service.url}/v1/points`, { method: "POST", body: "x" });
    expect((await refusal(text)).slice(0, 2)).toEqual([415, "unsupported_media_type"]);
  });
});

test.each(["DELETE", "PUT"])("%s of a fixed path with only GET does not reach a parameter path", async (method) => {
  const answer = await fetch(`${service.url}/v1/items/first`, { method, body: "x" });
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  expect(await answer.json()).toMatchObject({ code: "method_not_allowed" });
});

describe("handler answers", () => {
  test("nothing, bytes, and a complete response", async () => {
    expect(await (await call("DELETE", "/items/0")).json()).toBe(null);
    const bytes = await call("DELETE", "/items/7");
    expect([bytes.headers.get("content-type"), [...new Uint8Array(await bytes.arrayBuffer())]]).toEqual([
      "application/octet-stream",
      [0, 255],
    ]);
    const page = await call("DELETE", "/items/3");
    expect([page.status, page.headers.get("x-one"), page.headers.get("content-type"), await page.text()]).toEqual([
      202,
      "1",
      "text/html; charset=utf-8",
      "<b>3</b>",
    ]);
  });

  test("sends yielded pieces one by one", async () => {
    const lines = await call("GET", "/count?to=3");
    expect([lines.headers.get("content-type"), await lines.text()]).toEqual([
      "application/x-ndjson",
      '{"i":0}\n{"i":1}\n{"i":2}\n',
    ]);
    const ticks = await call("GET", "/ticks");
    expect([ticks.headers.get("content-type"), await ticks.text()]).toEqual([
      "text/plain; charset=utf-8",
      "tick 0;tick 1;tick 2;",
    ]);
    expect(await (await call("GET", "/count?to=0")).text()).toBe("");
  });

  test("sends a raised error with its status, text and headers", async () => {
    const gone = await call("DELETE", "/items/1");
    expect([gone.status, gone.headers.get("x-why")]).toEqual([404, "gone"]);
    expect(await gone.json()).toMatchObject({ status: 404, code: "handler_failed", detail: "There is no item 1." });
    expect(await (await call("DELETE", "/items/9")).json()).toMatchObject({
      status: 409,
      detail: "taken",
      meta: { detail: { message: "taken", by: [1] } },
    });
  });

  test("omits connection headers and trailers", async () => {
    const answer = await call("DELETE", "/items/11");
    const headers = ["trailer", "connection", "x-kept"].map((name) => answer.headers.get(name));
    expect([await answer.text(), ...headers]).toEqual(["x", null, "keep-alive", "1"]);
  });

  test.each([
    [2, "KeyError: 'secret' (app.py:"],
    [4, "its result is not valid JSON: it holds a object"],
    [5, "the header 'x-evil' holds a control character"],
    [6, "its result is not valid JSON"],
    [8, "SystemExit: 3"],
    [10, "raised HTTPError 409, which cannot be sent"],
  ])("names a failure without its stack (%i)", async (item, detail) => {
    const answer = await call("DELETE", `/items/${item}`);
    const problem = (await answer.json()) as { code: string; detail: string; meta: { function: string } };
    expect([answer.status, problem.code, problem.meta.function]).toEqual([400, "function_failed", "app:drop"]);
    expect(problem.detail).toContain(detail);
    expect(JSON.stringify(problem)).not.toContain("Traceback");
    expect(answer.headers.get("set-cookie")).toBe(null);
    expect(service.printed.join("\n")).toContain("Traceback");
  });

  test("HEAD is GET without its body", async () => {
    const head = await call("HEAD", "/items/7");
    expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([200, "application/json", ""]);
  });
});

test("describes signature and docstring in OpenAPI", async () => {
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string; summary: string; responses: object }>>;
  };
  const operation = document.paths["/v1/items/{item_id}"]?.get;
  expect([operation?.operationId, operation?.summary]).toEqual([
    "handler_items_item_id_v1_items_item_id_get",
    "Shows an item",
  ]);
  expect(Object.keys(operation?.responses ?? {})).toContain("422");
});

describe("pages of other origins", () => {
  let shared: HandlerService;

  beforeAll(async () => {
    shared = await serveHandlers(`
router = Router(name="api", cors=["https://app.example"])

@router.get("/items/{item_id}")
def show(item_id: int):
    return item_id

@router.put("/items/{item_id}")
def change(item_id: int):
    return Response("done", headers={"access-control-allow-origin": "*"})
`);
  });

  afterAll(async () => {
    await shared[Symbol.asyncDispose]();
  });

  async function asked(origin: string, method = "GET"): Promise<[string | null, string | null]> {
    const answer = await fetch(`${shared.url}/items/1`, { method, headers: { origin } });
    return [answer.headers.get("access-control-allow-origin"), answer.headers.get("vary")];
  }

  test("may call only what the router allows", async () => {
    expect(await asked("https://app.example")).toEqual(["https://app.example", "origin"]);
    expect(await asked("https://other.example")).toEqual([null, "origin"]);
    expect(await asked("https://other.example", "PUT")).toEqual([null, "origin"]);
    expect(await asked("http://localhost:3000")).toEqual([null, "origin"]);
  });

  test("get preflight answers", async () => {
    const answer = await fetch(`${shared.url}/items/1`, {
      method: "OPTIONS",
      headers: { origin: "https://app.example", "access-control-request-method": "PUT" },
    });
    expect([answer.status, answer.headers.get("allow")]).toEqual([204, "GET, HEAD, PUT, OPTIONS"]);
    expect(answer.headers.get("access-control-allow-methods")).toBe("GET, HEAD, PUT");
  });

  test("an unsupported method of a parameter path lists the allowed ones", async () => {
    const answer = await fetch(`${shared.url}/items/1`, { method: "POST" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT, OPTIONS"]);
  });
});
