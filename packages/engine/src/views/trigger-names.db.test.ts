import { openTestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";

/** Names of variables and aliases of the function that stores made rows, and of PL/pgSQL. */
const NAMES = [
  "first",
  "given",
  "made",
  "new",
  "old",
  "tg_op",
  "g",
  "u",
  "t",
  "rows",
  "computed",
  "errors",
  "found",
  "step1",
];

const APP = `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()

class Named(TypedDict):
${NAMES.map((name) => `    ${name}: str`).join("\n")}

@db.iterator
def named(text: str) -> Iterator[Named]:
    for word in text.split():
        yield {${NAMES.map((name) => `"${name}": f"{word} ${name}"`).join(", ")}}

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    body: db.String

class Word(Base, name="words", base=Doc, iterator=named(Doc.body)):
    loud = upper(first)
    step2 = upper(step1)

@db.query
def words():
    return Word.order_by(Word.id, Word.pos)

api = Router(name="api")
api.add_insert_route(Doc, path="/add")
api.add_update_route(Doc, path="/change")
api.add_query_route(path="/words", query=words)
`;

test("outputs can have the names of variables in the function that stores them", async () => {
  await using tested = await openTestApplication(APP);
  for (const id of [1, 2]) {
    const { status, text } = await tested.post("/add", { id, body: "01a217d3-1912-75d9-b128-6376e3840697 b" });
    expect(status, text).toBe(200);
  }
  expect((await tested.post("/change", { id: 1, body: "c" })).status).toBe(200);
  const { json } = await tested.post("/words", {});
  const [row] = json.rows;
  expect(json.rows).toHaveLength(3);
  expect(row).toMatchObject({
    ...Object.fromEntries(NAMES.map((name) => [name, `c ${name}`])),
    loud: "C FIRST",
    step2: "C STEP1",
  });
  const ids = await tested.sql.query({ text: "select count(distinct _row) from words" });
  expect(ids.rows).toEqual([["3"]]);
});
