import { eventually } from "@appdb/testkit/eventually";
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

@db.iterator(timeout=3)
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
  expect(json.detail).toContain("3 s");
  expect(json.hint).toContain("`@db.iterator`");
  expect((await tested.post("/parts", {})).json.rows).toEqual([{ id: 1, text: "quick" }]);
});

test("rows of more than 1 MB wait for those of other transactions, and small ones do not", async () => {
  await using tested = await openTestApplication(APP);
  const large = () => `${"a".repeat(600_000)} ${"b".repeat(600_000)}`;
  const waiting = {
    text: "select count(*) from pg_locks l join pg_database d on d.oid = l.database and d.datname = current_database() where locktype = 'advisory' and not granted",
  };
  const held = await tested.sql.transaction(async (connection) => {
    await connection.query({
      text: "insert into docs (_row, id, body, \"parts.(rows)\") select uuidv7(), 1, '', to_json(t) from (values (2, json_build_object('text', json_build_array($1::text, $1::text)), '{}'::json, '{}'::json)) as t(rows, given, computed, errors)",
      values: ["c".repeat(600_000)],
    });
    expect((await tested.post("/add", { id: 2, body: "small" })).status).toBe(200);
    const posted = tested.post("/add", { id: 3, body: large() });
    await eventually(async () => expect((await connection.query(waiting)).rows).toEqual([["1"]]));
    return { posted };
  });
  expect((await held.posted).status).toBe(200);
  const { rows } = await tested.sql.query({ text: "select count(*) from parts" });
  expect(rows).toEqual([["5"]]);
});
