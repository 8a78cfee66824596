import { openTestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";

/** Views with one condition that is a comparison and one that calls a function, each with an index over a column of the
 *  base and one over an own column. */
const APP = `
import appdb as db
from appdb.functions import format
from appdb.serving import Router

Base = db.model_base()

@db.udf
def embed(text: str) -> db.Array[(3,), db.Float]:
    return [1.0 + text.count("a"), 1.0 + text.count("b"), 1.0 + text.count("c")]

@db.udf
def is_long(text: str) -> bool:
    return len(text) > 3

class Notes(Base, name="notes"):
    id = db.Column(type=db.Int, primary_key=True)
    text: db.String

class Late(Base, name="late", base=Notes.where(Notes.id > 1)):
    twice = format("{0}{0}", Notes.text)
    __indexes__ = [db.EmbeddingIndex(Notes.text, embedding=embed, name="base"), db.EmbeddingIndex(twice, embedding=embed, name="own")]

class Long(Base, name="long", base=Notes.where(is_long(Notes.text))):
    twice = format("{0}{0}", Notes.text)
    __indexes__ = [db.EmbeddingIndex(Notes.text, embedding=embed, name="base"), db.EmbeddingIndex(twice, embedding=embed, name="own")]

api = Router(name="api")
api.add_insert_route(Notes, path="/add")

@db.query
def late_base(q: db.String):
    return Late.order_by(Late.text.similarity(string=q, idx="base"), asc=False).select(Late.id)
@db.query
def late_own(q: db.String):
    return Late.order_by(Late.twice.similarity(string=q, idx="own"), asc=False).select(Late.id)
@db.query
def long_base(q: db.String):
    return Long.order_by(Long.text.similarity(string=q, idx="base"), asc=False).select(Long.id)
@db.query
def long_own(q: db.String):
    return Long.order_by(Long.twice.similarity(string=q, idx="own"), asc=False).select(Long.id)
for one in (late_base, late_own, long_base, long_own):
    api.add_query_route(path=f"/{one.__name__}", query=one)
`;

test("a search of a filtered view makes the vector of its text without the condition of the rows", async () => {
  await using tested = await openTestApplication(APP);
  const rows = ["aaaa", "bb", "bbbb", "cccc", "aaab"].map((text, at) => ({ id: at + 1, text }));
  expect((await tested.post("/add", rows)).status).toBe(200);
  const found = async (query: string) => {
    const { json, status } = await tested.post(`/${query}`, { q: "aaa" });
    return [status, (json.rows as { id: number }[]).map(({ id }) => id)];
  };
  expect(await found("late_base")).toEqual([200, [5, 2, 3, 4]]);
  expect(await found("late_own")).toEqual([200, [5, 2, 3, 4]]);
  expect(await found("long_base")).toEqual([200, [1, 5, 3, 4]]);
  expect(await found("long_own")).toEqual([200, [1, 5, 3, 4]]);
});
