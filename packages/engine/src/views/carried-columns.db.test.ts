import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";

/** Views over an iterator view that read columns of its base, some through two iterator views. */
const appWith = ({ title = "title", was = "", more = "", least = 2 } = {}) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import format, upper
from appdb.serving import Router

Base = db.model_base()

class Part(TypedDict):
    part: str

@db.iterator
def words(text: str, least: int) -> Iterator[Part]:
    for word in text.split():
        if len(word) >= least:
            yield {"part": word}

@db.iterator
def letters(word: str, also: str) -> Iterator[Part]:
    for letter in word + also:
        yield {"part": letter}

@db.udf
def is_public(kind: str) -> bool:
    return kind != "secret"

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    ${title} = db.Column(type=db.String${was})
    kind = db.Column(type=db.String, default="note")
    body: db.String

class Word(Base, name="words", base=Doc.where(is_public(Doc.kind)), iterator=words(Doc.body, least=${least})):
    loud = upper(part)

class Noted(Base, name="noted", base=Word.where(Word.kind == "note")):
    line = format("{0}: {1}", Word.${title}, Word.loud)

class Letter(Base, name="letters", base=Noted, iterator=letters(Noted.loud, Noted.${title})):
    of = format("{0} of {1} in {2}", part, Noted.line, Doc.id)

class First(Base, name="first", base=Letter.where((Letter.pos == 0) & (Letter.kind == "note"))):
    place = format("{0}/{1}", Doc.${title}, Letter.part)
${more}
@db.query
def noted():
    return Noted.order_by(Noted.id, Noted.pos).select(Noted.id, Noted.line, Noted.${title})

@db.query
def spelled():
    return Letter.order_by(Letter.id).select(Letter.part, Letter.of)

@db.query
def first():
    return First.order_by(First.id).select(First.place)

api = Router(name="api")
api.add_insert_route(Doc, path="/add")
api.add_update_route(Doc, path="/change")
api.add_delete_route(Doc, path="/drop")
for each in (noted, spelled, first):
    api.add_query_route(path=f"/{each.__name__}", query=each)
`;

let tested: TestApplication;

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

async function valuesOf(path: string, column: string, served: Pick<TestApplication, "post"> = tested) {
  const { status, json } = await served.post(path, {});
  expect(status, JSON.stringify(json)).toBe(200);
  return json.rows.map((row: Record<string, unknown>) => row[column]);
}

test("views over an iterator view read columns of its base, and follow each change of them", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, title: "x", body: "to be" });
  await tested.post("/add", { id: 2, title: "y", kind: "secret", body: "or not" });
  await tested.post("/add", { id: 3, title: "z", kind: "draft", body: "to go" });
  expect(await valuesOf("/noted", "line")).toEqual(["x: TO", "x: BE"]);
  expect(await valuesOf("/spelled", "of")).toEqual([
    "T of x: TO in 1",
    "O of x: TO in 1",
    "x of x: TO in 1",
    "B of x: BE in 1",
    "E of x: BE in 1",
    "x of x: BE in 1",
  ]);
  expect(await valuesOf("/first", "place")).toEqual(["x/T", "x/B"]);
  await tested.post("/change", { id: 1, title: "new" });
  expect(await valuesOf("/noted", "line")).toEqual(["new: TO", "new: BE"]);
  expect(await valuesOf("/first", "place")).toEqual(["new/T", "new/B"]);
  expect((await valuesOf("/spelled", "part")).join("")).toBe("TOnewBEnew");
  await tested.post("/change", { id: 3, kind: "note" });
  await tested.post("/change", { id: 2, kind: "note" });
  expect(await valuesOf("/noted", "line")).toEqual(["new: TO", "new: BE", "y: OR", "y: NOT", "z: TO", "z: GO"]);
  await tested.post("/change", { id: 1, kind: "secret" });
  await tested.post("/drop", { id: 3 });
  expect(await valuesOf("/first", "place")).toEqual(["y/O", "y/N"]);
});

const TITLED = `
class Titled(Base, name="titled", base=Word.where(Word.pos == 1)):
    both = format("{0} {1} {2}", Doc.title, Doc.body, Word.loud)

@db.query
def titled():
    return Titled.select(Titled.both)
`;

test("a view that begins to read a column of its base's base has the values of existing rows", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, title: "x", body: "to be" });
  const changed = appWith({ more: TITLED }).replace("in (noted,", "in (titled, noted,");
  await tested.finish(await tested.update(changed));
  await using next = await tested.serve(changed);
  expect(await valuesOf("/titled", "both", next)).toEqual(["x to be BE"]);
  await next.post("/change", { id: 1, body: "to go" });
  expect(await valuesOf("/titled", "both", next)).toEqual(["x to go GO"]);
});

test("a view that the file does not declare keeps what it reads", async () => {
  const whole = appWith({ more: TITLED }).replace("in (noted,", "in (titled, noted,");
  tested = await openTestApplication(whole);
  await tested.post("/add", { id: 1, title: "x", body: "to be" });
  const without = appWith();
  expect((await tested.diff(without)).ops).toEqual([]);
  expect(await tested.update(without)).toEqual([]);
  await using next = await tested.serve(without);
  await next.post("/add", { id: 2, title: "y", body: "or not" });
  const { rows } = await tested.sql.query({ text: "select id::text from appdb.jobs where state = 'queued'" });
  await tested.finish(rows.map(([id]) => String(id)));
  expect((await tested.diff(whole)).in_agreement).toBe(true);
  expect(await valuesOf("/titled", "both")).toEqual(["x to be BE", "y or not NOT"]);
});

test("a renamed column of the base's base renames its copies", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, title: "x", body: "to be" });
  const renamed = appWith({ title: "heading", was: ', renamed_from="title"' });
  await tested.finish(await tested.update(renamed));
  expect((await tested.diff(renamed)).in_agreement).toBe(true);
  await using next = await tested.serve(renamed);
  await next.post("/change", { id: 1, heading: "z" });
  expect(await valuesOf("/noted", "line", next)).toEqual(["z: TO", "z: BE"]);
  expect(await valuesOf("/first", "place", next)).toEqual(["z/T", "z/B"]);
});

test("a changed iterator makes copies again", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, title: "x", body: "a bee" });
  const changed = appWith({ least: 1 });
  await tested.finish(await tested.update(changed));
  await using next = await tested.serve(changed);
  expect(await valuesOf("/noted", "line", next)).toEqual(["x: A", "x: BEE"]);
  expect(await valuesOf("/first", "place", next)).toEqual(["x/A", "x/B"]);
});

test("a dropped view leaves neither copies nor its condition", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, title: "x", body: "to be" });
  const without = appWith()
    .replace(/class (?:Word|Noted|Letter|First)\(.*\n(?: .*\n)+/g, "")
    .replace(/@db.query[\s\S]*/, "");
  expect(await tested.prune(without)).toEqual(["main/first", "main/noted", "main/letters", "main/words"]);
  const { rows } = await tested.sql.query({ text: "select name from appdb.columns where name like '%.%'" });
  expect(rows).toEqual([]);
  const tables = await tested.sql.query({ text: "select name from appdb.tables" });
  expect(tables.rows).toEqual([["docs"]]);
});
