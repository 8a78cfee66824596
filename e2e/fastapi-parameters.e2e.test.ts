import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeProject, serveProject } from "./support/served.ts";

const APP = `
from typing import Annotated

import appdb as db
from appdb.functions import uuid7
from appdb.serving import JSONResponse, Router
from fastapi import Body, Cookie, Depends, File, Form, Header, HTTPException, Path, Query, Response, UploadFile

Base = db.model_base()

class Notes(Base, name="notes"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.Required[db.String]

@db.query
def all_notes() -> db.Query:
    return Notes.select(Notes.text)

api = Router(name="api", prefix="/v1")

def user(x_user: str = Header()):
    if x_user == "bad":
        raise HTTPException(401, "No user of that name.")
    return x_user

@api.post("/notes/{shelf}")
def add(shelf: int = Path(ge=1), text: str = Body(...), times: int = Query(1, ge=1), who: str = Depends(user)):
    """Stores a note."""
    rows = [Notes.insert({"text": f"{who}: {text}"}) for _ in range(times)]
    return {"shelf": shelf, "text": rows[0]["text"], "there": len(all_notes())}

@api.post("/item")
async def item(item: Annotated[dict, Body(embed=True)], seen: Annotated[str | None, Cookie()] = None):
    return JSONResponse({"item": item, "seen": seen, "there": len(await all_notes())}, status_code=202)

@api.post("/form")
def form(response: Response, name: str = Form(), age: int = Form(5)):
    response.headers["x-name"] = name
    return {"name": name, "age": age}

@api.post("/file", status_code=201)
async def upload(file: UploadFile = File(...), label: str = Form("")):
    return {"name": file.filename, "size": len(await file.read()), "label": label}

@api.get("/boom")
def boom(q: str = Query("x")):
    raise RuntimeError("out of paper")
`;

const JSON_TYPE = { "content-type": "application/json" };
let project: TestProject;
let url: string;

beforeAll(async () => {
  project = await makeProject(APP);
  writeFileSync(join(project.folder, "requirements.txt"), "fastapi==0.165.0\npython-multipart\n");
  url = await serveProject(project);
}, 180_000);

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

async function post(path: string, init: RequestInit): Promise<[number, unknown]> {
  const answer = await fetch(url + path, { method: "POST", ...init });
  return [answer.status, await answer.json()];
}

test("a handler reads path, query, header, body and dependencies as FastAPI does", async () => {
  const headers = { ...JSON_TYPE, "x-user": "ann" };
  expect(await post("/v1/notes/4?times=2", { headers, body: '"milk"' })).toEqual([
    200,
    { shelf: 4, text: "ann: milk", there: 2 },
  ]);
  const embedded = { headers: { ...JSON_TYPE, cookie: "seen=1" }, body: '{"item":{"a":1}}' };
  expect(await post("/v1/item", embedded)).toEqual([202, { item: { a: 1 }, seen: "1", there: 2 }]);
});

test("refuses an invalid value with its location", async () => {
  const [status, problem] = await post("/v1/notes/0?times=x", { headers: JSON_TYPE, body: '"milk"' });
  expect(status).toBe(422);
  expect(problem).toMatchObject({ code: "invalid_request", detail: "3 values are invalid." });
  const { errors } = problem as { errors: { pointer: string }[] };
  expect(errors.map(({ pointer }) => pointer).sort()).toEqual(["/shelf", "/times", "/x-user"]);
  const headers = { ...JSON_TYPE, "x-user": "ann" };
  expect(await post("/v1/notes/1", { headers, body: "{" })).toMatchObject([400, { code: "invalid_json" }]);
  const refused = await post("/v1/notes/1", { headers: { ...headers, "x-user": "bad" }, body: '"milk"' });
  expect(refused).toMatchObject([401, { detail: "No user of that name." }]);
});

test("a handler accepts forms and files", async () => {
  const filled = await fetch(`${url}/v1/form`, { method: "POST", body: new URLSearchParams({ name: "Jo" }) });
  expect([filled.headers.get("x-name"), await filled.json()]).toEqual(["Jo", { name: "Jo", age: 5 }]);
  const body = new FormData();
  body.set("file", new Blob(["one\r\ntwo\0"]), "a.txt");
  body.set("label", "x");
  expect(await post("/v1/file", { body })).toEqual([201, { name: "a.txt", size: 9, label: "x" }]);
});

test("an exception is 400 with its code and line", async () => {
  const answer = await fetch(`${url}/v1/boom`);
  expect([answer.status, await answer.json()]).toMatchObject([
    400,
    { code: "function_failed", detail: "The handler app:boom failed: RuntimeError: out of paper (app.py:47)" },
  ]);
});

test("OpenAPI describes what FastAPI reads", async () => {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { post: Operation }>;
  };
  const { parameters = [], requestBody, summary } = document.paths["/v1/notes/{shelf}"]?.post ?? {};
  expect(summary).toBe("Stores a note");
  expect(parameters.map(({ name, in: placeOf }) => `${placeOf} ${name}`).sort()).toEqual([
    "header x-user",
    "path shelf",
    "query times",
  ]);
  expect(requestBody?.content["application/json"]?.schema).toMatchObject({ type: "string" });
  expect(document.paths["/v1/file"]?.post.requestBody?.content["multipart/form-data"]?.schema).toMatchObject({
    required: ["file"],
  });
});

interface Operation {
  readonly summary?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: unknown }> };
}
