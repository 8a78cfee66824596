import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

/** Routes whose response is made by a function of the application. */
const APP = `
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

Base = db.model_base()

@db.udf
def half(n: int) -> float:
    if n == 13:
        raise ValueError("unlucky")
    return n / 2

class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    n: db.Int
    at: db.Timestamp | None
    loud = upper(title)
    share = half(n)
    ratio = 10 / n

@dataclass
class Card:
    title: str
    tags: list[str]
    at: datetime | None = None

api = Router(name="api")

@api.insert_route(Docs, path="/docs", outputs=[Docs.id, Docs.loud, Docs.share, Docs.at])
def card(*, id: UUID, loud: str, share: float, at: datetime | None) -> Card:
    if loud == "BAD":
        raise RuntimeError("no card for this")
    return Card(title=f"{loud} {share} {type(id).__name__}", tags=["a", "b"], at=at)

@api.insert_route(Docs, path="/docs/try", on_error="ignore")
async def tried(*, title: str, share: float | None):
    return [title, share]

@api.compute_route(Docs, path="/docs/look", inputs=[Docs.title])
def look(*, loud) -> str:
    return loud + "!"

@api.update_route(Docs, path="/docs/change", inputs=[Docs.title, Docs.n])
def changed(*, title, loud, ratio, share: float, extra=7) -> dict:
    if title == "bad":
        raise KeyError("x")
    return {"t": title, "l": loud, "r": ratio, "s": share, "e": extra}

@api.update_route(Docs, path="/docs/strange", inputs=[Docs.title])
def strange(*, title):
    return object() if title == "object" else float("nan") if title == "nan" else None

api.add_insert_route(Docs, path="/plain", outputs=[Docs.id])
api.add_update_route(Docs, path="/plain/update", on_error="ignore")
`;

let tested: TestApplication;

beforeAll(async () => {
  tested = await openTestApplication(APP);
});

afterAll(async () => {
  await tested?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await tested.sql.query({ text: "truncate docs" });
});

const stored = async (columns = "title, n, loud, share, ratio, _errors") =>
  (await tested.sql.query({ text: `select ${columns} from docs` })).rows;

test("a function makes an insert's response from its outputs", async () => {
  const answer = await tested.post("/docs", { title: "hi", n: 5, at: "2024-01-02T03:04:05+02:00" });
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.json).toEqual({ title: "HI 2.5 UUID", tags: ["a", "b"], at: "2024-01-02T01:04:05+00:00" });
  expect(await stored()).toEqual([["hi", "5", "HI", "2.5", "2", null]]);
});

test("if the function or a column fails, nothing is stored", async () => {
  const answer = await tested.post("/docs", { title: "bad", n: 5 });
  expect(answer).toMatchObject({
    status: 400,
    json: {
      code: "function_failed",
      meta: { function: "app:card", type: "RuntimeError", message: "no card for this", at: "app.py:38" },
    },
  });
  expect(answer.json.detail).toBe("The route's response: app:card raised RuntimeError: no card for this (app.py:38)");
  const column = await tested.post("/docs", { title: "x", n: 13 });
  expect(column).toMatchObject({ status: 400, json: { meta: { column: "share" } } });
  const zero = await tested.post("/docs", { title: "x", n: 0 });
  expect(zero).toMatchObject({ status: 400, json: { meta: { column: "ratio" } } });
  expect(await stored()).toEqual([]);
});

test("with on_error=ignore the function of the answer sees null where a column failed", async () => {
  const answer = await tested.post("/docs/try", { title: "x", n: 13 });
  expect(answer).toMatchObject({ status: 200, text: '["x",null]' });
  expect(answer.headers["x-cell-errors"]).toBe('share;type="ValueError"');
  expect(await stored("title, n, ratio, _errors->'share'->>'type'")).toEqual([
    ["x", "13", "0.7692307692307693", "ValueError"],
  ]);
});

test("a computed response stores nothing and computes only what it needs", async () => {
  expect(await tested.post("/docs/look", { title: "hi" })).toMatchObject({ status: 200, text: '"HI!"' });
  expect(await stored()).toEqual([]);
});

test("an update's response is made from the new row; a failure changes nothing", async () => {
  const { id } = (await tested.post("/plain", { title: "hi", n: 4 })).json;
  const first = await tested.post("/docs/change", { id, n: 8 });
  expect(first).toMatchObject({ status: 200, json: { t: "hi", l: "HI", r: 1.25, s: 4, e: 7 } });
  const bad = await tested.post("/docs/change", { id, title: "bad", n: 2 });
  expect(bad).toMatchObject({ status: 400, json: { meta: { function: "app:changed", type: "KeyError" } } });
  expect(await stored()).toEqual([["hi", "8", "HI", "4", "1.25", null]]);
  const same = await tested.post("/docs/change", { id });
  expect(same.json).toEqual(first.json);
  expect((await tested.post("/docs/change", { id: "0192a3b4-0000-7000-8000-000000000000", n: 1 })).status).toBe(404);
});

test("a result that is not JSON is refused without changes; None is null", async () => {
  const { id } = (await tested.post("/plain", { title: "hi", n: 4 })).json;
  for (const title of ["object", "nan"]) {
    expect(await tested.post("/docs/strange", { id, title })).toMatchObject({
      status: 400,
      json: { code: "function_failed", meta: { function: "app:strange" } },
    });
  }
  expect(await stored("title")).toEqual([["hi"]]);
  expect((await tested.post("/docs/strange", { id, title: "none" })).text).toBe("null");
});

test("20 concurrent requests per kind of route get their own row", async () => {
  const numbers = Array.from({ length: 20 }, (_, at) => at + 20);
  const made = await Promise.all(numbers.map((n) => tested.post("/docs/try", { title: `t${n}`, n })));
  expect(made.map(({ json }) => json)).toEqual(numbers.map((n) => [`t${n}`, n / 2]));
  const [[id]] = (await stored("id")) as [[string]];
  const changed = await Promise.all(numbers.map((n) => tested.post("/docs/change", { id, n })));
  expect(changed.map(({ status, json }) => [status, json.s])).toEqual(numbers.map((n) => [200, n / 2]));
  expect((await tested.sql.query({ text: `select n, share from docs where id = '${id}'` })).rows).toEqual([
    ["39", "19.5"],
  ]);
});

test("Prefer: return=minimal gets no body and is confirmed", async () => {
  const prefer = { headers: { prefer: 'respond-async, Return="minimal"; x=1' } };
  const made = await tested.post("/plain", { title: "hi", n: 4 }, prefer);
  expect(made).toMatchObject({ status: 204, text: "", headers: { "preference-applied": "return=minimal" } });
  expect(made.headers).not.toHaveProperty("content-type");
  const [[id]] = (await stored("id")) as [[string]];
  const failing = await tested.post("/plain/update", { id, n: 13 }, prefer);
  expect(failing).toMatchObject({ status: 204, headers: { "x-cell-errors": 'share;type="ValueError"' } });
  const full = await tested.post("/plain/update", { id, n: 2 }, { headers: { prefer: "return=representation" } });
  expect(full).toMatchObject({ status: 200, json: { n: 2 } });
  expect(full.headers).not.toHaveProperty("preference-applied");
});
