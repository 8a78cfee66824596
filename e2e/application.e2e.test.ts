import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectExit, makeProject, serveProject } from "./support/served.ts";

const APP = `
from contextlib import asynccontextmanager

import appdb as db
import fastapi
from appdb.functions import upper
from appdb.serving import FastAPIRouter, HTTPError
from pydantic import BaseModel

Base = db.model_base()

class Items(Base, name="items"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    loud = upper(title)

@db.query
def titled(title: str):
    return Items.where(Items.title == title).select(Items.id, Items.loud).order_by(Items.id)

class Order(BaseModel):
    title: str
    count: int = 1

inner = FastAPIRouter(name="inner", prefix="/items")
inner.add_insert_route(Items, path="/new")
inner.add_query_route(path="/titled", query=titled, method="get")

@inner.post("/order")
def order(wanted: Order, base: int = 0):
    if wanted.count > 5:
        raise HTTPError(409, "Too many.")
    rows = Items.insert([{"id": base + n, "title": wanted.title} for n in range(wanted.count)])
    return {"stored": [row["loud"] for row in rows], "there": len(titled(wanted.title))}

@inner.put("/{item_id}")
async def rename(item_id: int, title: str):
    return await Items.update({"id": item_id, "title": title})

@inner.delete("/{item_id}")
def drop(item_id: int):
    return Items.delete(id=item_id)

@asynccontextmanager
async def lifespan(app):
    yield {"greeting": "hello"}

def checked(x_token: str = fastapi.Header()):
    if x_token != "t":
        raise fastapi.HTTPException(401, "No token.")

app = fastapi.FastAPI(title="Shop", lifespan=lifespan)

@app.middleware("http")
async def mark(request, call_next):
    response = await call_next(request)
    response.headers["x-mark"] = "1"
    return response

@app.get("/greet/{name}")
def greet(name: str, request: fastapi.Request):
    return f"{request.state.greeting} {name}"

@app.get("/count")
async def count(title: str):
    return len(await titled(title))

app.include_router(inner, prefix="/api", dependencies=[fastapi.Depends(checked)])
`;

let project: TestProject;
let url: string;

beforeAll(async () => {
  project = await makeProject(APP);
  writeFileSync(join(project.folder, "requirements.txt"), "fastapi==0.165.0\n");
  url = await serveProject(project);
}, 180_000);

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

function call(path: string, body?: unknown, headers: Record<string, string> = { "x-token": "t" }): Promise<Response> {
  if (body === undefined) return fetch(url + path, { headers });
  const type = { "content-type": "application/json" };
  return fetch(url + path, { method: "POST", body: JSON.stringify(body), headers: { ...headers, ...type } });
}

describe("a FastAPI application", () => {
  test("is served as one service with lifespan, middleware and its pages", async () => {
    const greeting = await call("/greet/you");
    expect([await greeting.json(), greeting.headers.get("x-mark")]).toEqual(["hello you", "1"]);
    expect(await (await call("/docs")).text()).toContain("Shop");
    expect((await call("/nowhere")).status).toBe(404);
  });

  test("serves routes of an included router behind middleware and dependencies", async () => {
    const stored = await call("/api/items/new", { id: 1, title: "pen" });
    expect([stored.status, await stored.json(), stored.headers.get("x-mark")]).toEqual([
      200,
      { id: 1, title: "pen", loud: "PEN" },
      "1",
    ]);
    expect(await (await call("/api/items/titled?title=pen")).json()).toEqual({ rows: [{ id: 1, loud: "PEN" }] });
    expect((await call("/api/items/new", { id: 2, title: "ink" }, { "x-token": "no" })).status).toBe(401);
    const twice = await call("/api/items/new", { id: 1, title: "pen" });
    const id = twice.headers.get("x-request-id");
    expect([twice.status, await twice.json()]).toEqual([
      409,
      expect.objectContaining({ code: "unique_violation", instance: id }),
    ]);
  });

  test("lets handlers run queries and store all rows of a list or none", async () => {
    const ordered = await call("/api/items/order?base=10", { title: "cup", count: 3 });
    expect([ordered.status, await ordered.json()]).toEqual([200, { stored: ["CUP", "CUP", "CUP"], there: 3 }]);
    expect(await (await call("/count?title=cup")).json()).toBe(3);
    const clash = await call("/api/items/order?base=9", { title: "cup", count: 3 });
    const instance = clash.headers.get("x-request-id");
    expect([clash.status, await clash.json()]).toEqual([
      409,
      expect.objectContaining({ code: "unique_violation", instance }),
    ]);
    expect(await (await call("/count?title=cup")).json()).toBe(3);
    for (const path of ["/api/items/new", "/api/items/order"]) {
      const large = await call(path, { id: 500, title: "x".repeat(16_000_001) });
      const told = { code: "payload_too_large", instance: large.headers.get("x-request-id") };
      expect([large.status, await large.json()]).toEqual([413, expect.objectContaining(told)]);
    }
    const many = await call("/api/items/order", { title: "cup", count: 9 });
    expect([many.status, await many.json()]).toEqual([409, expect.objectContaining({ detail: "Too many." })]);
    const wrong = await call("/api/items/order", { title: 3 });
    expect([wrong.status, ((await wrong.json()) as { code: string }).code]).toEqual([422, "invalid_request"]);
  });

  test("lets handlers change and delete rows by their key", async () => {
    const headers = { "x-token": "t" };
    await call("/api/items/new", { id: 70, title: "mug" });
    const renamed = await fetch(`${url}/api/items/70?title=jug`, { method: "PUT", headers });
    expect([renamed.status, await renamed.json()]).toEqual([200, { id: 70, title: "jug", loud: "JUG" }]);
    const dropped = await fetch(`${url}/api/items/70`, { method: "DELETE", headers });
    expect([dropped.status, await dropped.json()]).toEqual([200, 1]);
    const gone = await fetch(`${url}/api/items/70?title=jug`, { method: "PUT", headers });
    const instance = gone.headers.get("x-request-id");
    expect([gone.status, await gone.json()]).toEqual([
      404,
      expect.objectContaining({ code: "row_not_found", instance }),
    ]);
  });

  test("has one description of its own and its routers' routes", async () => {
    const document = (await (await call("/openapi.json")).json()) as {
      info: { title: string };
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    expect(document.info.title).toBe("Shop");
    expect(document.paths["/greet/{name}"]?.get?.operationId).toBe("greet_greet__name__get");
    expect(document.paths["/api/items/new"]?.post?.operationId).toBe("insert_api_items_new_api_items_new_post");
    expect(document.paths["/api/items/order"]?.post?.operationId).toBe("handler_api_items_order_api_items_order_post");
  });

  test("shows in a plan which of its own paths will be served", async () => {
    writeFileSync(join(project.folder, "app.py"), APP.replace('@app.get("/count")', '@app.get("/number")'));
    const { stdout } = await project.cli("service", "diff", "app.py", "main");
    writeFileSync(join(project.folder, "app.py"), APP);
    expect(stdout).toContain("path '/number' will be served");
    expect(stdout).toContain("path '/count' will no longer be served");
  });

  test("is listed with the routes of its routers", async () => {
    const listed = JSON.parse((await expectExit(project, 0, "service", "list", "--json")).stdout) as {
      services: { service: string; routes: { path: string }[] }[];
    };
    expect(listed.services.map(({ routes }) => routes.map(({ path }) => path))).toEqual([
      ["/api/items/new", "/api/items/titled", "/api/items/order", "/api/items/{item_id}", "/api/items/{item_id}"],
    ]);
  });
});
