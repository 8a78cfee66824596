import { openTestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";

const APP = `
import time
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()

class Part(TypedDict):
    text: str

@db.iterator(timeout=0.5)
def parts(text: str) -> Iterator[Part]:
    for word in text.split():
        time.sleep(20 if word == "slow" else 0)
        yield {"text": word}

class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    body: db.String

class Parts(Base, name="parts", base=Docs, iterator=parts(Docs.body)):
    pass

@db.query
def all_parts():
    return Parts.select(Parts.id, Parts.text)

api = Router(name="api")
api.add_insert_route(Docs, path="/add")
api.add_query_route(path="/parts", query=all_parts)
`;

test("an iterator ends at its own time limit, and its row is refused", async () => {
  await using tested = await openTestApplication(APP);
  expect((await tested.post("/add", { id: 1, body: "quick" })).status).toBe(200);
  const { status, json } = await tested.post("/add", { id: 2, body: "quick slow" });
  expect([status, json.code]).toEqual([400, "function_timeout"]);
  expect(json.detail).toContain("0.5 s");
  expect(json.hint).toContain("`@db.iterator`");
  expect((await tested.post("/parts", {})).json.rows).toEqual([{ id: 1, text: "quick" }]);
});
