import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";
import { describeService } from "../endpoints/openapi.ts";
import { describeRoutes } from "../services/describe-routes.ts";

const APP = `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import format, upper
from appdb.functions.string import string_splitter
from appdb.serving import Router

Base = db.model_base()

class Word(TypedDict):
    word: str
    letters: int
    twice: str

class Point(TypedDict):
    at: db.Array[(2,), db.Float] | None
    raw: bytes
    x: float

@db.iterator(unstored_cols=["twice"])
def words(text: str, least: int = 1) -> Iterator[Word]:
    for word in text.split():
        if word == "boom":
            raise ValueError("boom")
        if len(word) >= least:
            yield {"word": word, "letters": len(word), "twice": word + word}

@db.iterator
def points(n: int) -> Iterator[Point]:
    for k in range(n):
        yield {"at": [0.1, float(k)] if k else None, "raw": bytes([0, 255, k]), "x": -0.0}

@db.iterator
def letters(word: str) -> Iterator[Word]:
    for letter in word:
        yield {"word": letter, "letters": 1, "twice": letter + letter}

@db.udf
def shouted(text: str, by: str) -> str:
    if "?" in text:
        raise ValueError("a question")
    return f"{by}: {text.upper()}!"

@db.udf
def embed(text: str) -> db.Array[(2,), db.Float]:
    raise RuntimeError("a vector that nothing reads")

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    text: db.String | None
    n: db.Int | None
    rest: db.String
    shown = upper(title)

class Named(Base, name="named", base=Doc.where(Doc.id > 0).select(Doc.id, Doc.text, Doc.shown, who=Doc.title)):
    tag = format("{0}/{1}", Doc.id, who)

class W(Base, name="words", base=Named, iterator=words(Named.text)):
    loud = shouted(word, Named.who)
    first = pos + 1
    again = db.Column(value=upper(loud), stored=False)
    tagged = db.Column(value=format("{0}-{1}", Named.tag, word), stored=False)
    __indexes__ = [db.EmbeddingIndex(word, embedding=embed)]

class Long(Base, name="long", base=W.where(W.letters > 3)):
    big = upper(W.word)
    small = db.Column(value=format("{0}.", W.word), stored=False)

class Asked(Base, name="asked", base=W.where(W.loud.contains("E"))):
    pass

class Letter(Base, name="letters", base=W.where(W.letters < 3), iterator=letters(W.word)):
    letter = upper(word)

class Points(Base, name="points", base=Doc, iterator=points(Doc.n)):
    pass

class Sentence(Base, name="sentences", base=Doc, iterator=string_splitter(Doc.text, separators="sentence")):
    loud = upper(text)

api = Router(name="api", prefix="/v1")
api.add_compute_route(W, path="/words", inputs=[W.id, Named.text, Doc.title], outputs=[W.pos, W.word, W.twice, W.loud, W.first, W.again, W.tagged, W.id, W.tag, W.who, W.shown])
api.add_compute_route(W, path="/few", inputs=[Doc.id, Doc.text], outputs=[W.word])
api.add_compute_route(Long, path="/long", inputs=["id", "text", "title"], outputs=[Long.word, Long.big, Long.small, Long.who, Long.pos])
api.add_compute_route(Asked, path="/asked", inputs=["id", "text", "title"], outputs=[Asked.word])
api.add_compute_route(Letter, path="/letters", inputs=["id", "text", "title"], outputs=[Letter.pos, Letter.word, Letter.twice, Letter.letter, Letter.loud, Letter.id])
api.add_compute_route(Points, path="/points", inputs=[Doc.n], outputs=[Points.pos, Points.at, Points.raw, Points.x])
api.add_compute_route(Sentence, path="/sentences")
`;

let tested: TestApplication;

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

const DOC = { id: 7, title: "ann", text: "a fine day to be" };

async function answerOf(path: string, body: object): Promise<unknown> {
  const { status, json, text } = await tested.post(`/v1${path}`, body);
  expect(status, text).toBe(200);
  return json;
}

test("a compute route returns the rows that a row makes, in their order, and stores nothing", async () => {
  tested = await openTestApplication(APP);
  const rows = ["a", "fine", "day", "to", "be"].map((word, pos) => ({
    pos,
    word,
    twice: word + word,
    loud: `ann: ${word.toUpperCase()}!`,
    first: pos + 1,
    again: `ANN: ${word.toUpperCase()}!`,
    tagged: `7/ann-${word}`,
    id: 7,
    tag: "7/ann",
    who: "ann",
    shown: "ANN",
  }));
  expect(await answerOf("/words", DOC)).toEqual(rows);
  expect(await answerOf("/words", { ...DOC, text: "" })).toEqual([]);
  expect(await answerOf("/words", { ...DOC, text: null })).toEqual([]);
  // Its base leaves this row out.
  expect(await answerOf("/words", { ...DOC, id: 0 })).toEqual([]);
  expect(await answerOf("/few", { id: 1, text: "to be" })).toEqual([{ word: "to" }, { word: "be" }]);
  const { rows: stored } = await tested.sql.query({ text: "select count(*) from docs, words" });
  expect(stored).toEqual([["0"]]);
});

test("a compute route over a view of made rows leaves out rows, and one over rows of rows has all of them", async () => {
  tested = await openTestApplication(APP);
  expect(await answerOf("/long", DOC)).toEqual([{ word: "fine", big: "FINE", small: "fine.", who: "ann", pos: 1 }]);
  expect(await answerOf("/asked", DOC)).toEqual([{ word: "fine" }, { word: "be" }]);
  const letters = [
    [0, "a", "a"],
    [0, "t", "to"],
    [1, "o", "to"],
    [0, "b", "be"],
    [1, "e", "be"],
  ] as const;
  expect(await answerOf("/letters", DOC)).toEqual(
    letters.map(([pos, word, of]) => ({
      pos,
      word,
      twice: word + word,
      letter: word.toUpperCase(),
      loud: `ann: ${of.toUpperCase()}!`,
      id: 7,
    })),
  );
});

test("values of every form reach the response, and inputs are those of the base by default", async () => {
  tested = await openTestApplication(APP);
  expect(await answerOf("/points", { n: 2 })).toEqual([
    { pos: 0, at: null, raw: "AP8A", x: -0 },
    { pos: 1, at: [0.1, 1], raw: "AP8B", x: -0 },
  ]);
  const given = { id: 1, title: "t", text: "A b. C d.", n: 3, rest: "r" };
  const more = { id: 1, title: "t", n: 3, rest: "r", shown: "T" };
  expect(await answerOf("/sentences", given)).toEqual([
    { pos: 0, text: "A b.", loud: "A B.", ...more },
    { pos: 1, text: "C d.", loud: "C D.", ...more },
  ]);
});

test("a failure in the middle, too many rows and too many bytes are errors of the route", async () => {
  tested = await openTestApplication(APP, { result_rows: 4, result_bytes: 1_000 });
  const raised = await tested.post("/v1/words", { ...DOC, text: "a boom" });
  expect(raised).toMatchObject({ status: 400, json: { code: "function_failed" } });
  expect(raised.json.detail).toContain("boom");
  const failed = await tested.post("/v1/words", { ...DOC, text: "a why?" });
  expect(failed.json).toMatchObject({ code: "function_failed", detail: expect.stringContaining("a question") });
  expect(failed.json.detail).toContain("loud at pos 1");
  const many = await tested.post("/v1/few", { id: 1, text: "a b c d e" });
  expect(many.json).toMatchObject({
    code: "result_too_large",
    detail: "The response of POST /v1/few has more than 4 rows, the maximum of a response.",
    hint: expect.stringContaining("Send a row that makes fewer rows"),
  });
  const long = await tested.post("/v1/few", { id: 1, text: `${"a".repeat(600)} ${"b".repeat(600)}` });
  expect(long.json).toMatchObject({
    code: "result_too_large",
    detail: expect.stringContaining("more than 1000 bytes"),
  });
  const lacks = await tested.post("/v1/words", { id: 1 });
  expect(lacks.json).toMatchObject({ code: "invalid_request" });
});

test("the schema of the response is an array of the outputs, and of the request a row of the base", async () => {
  tested = await openTestApplication(APP);
  const service = tested.manifest.services[0];
  if (service === undefined) throw new Error("no service");
  const { paths, components } = JSON.parse(JSON.stringify(describeService(tested.manifest, service)));
  const { post } = paths["/v1/letters"];
  expect(post).toMatchObject({
    summary: "Compute the rows of letters that a row of docs makes, storing nothing",
    tags: ["letters"],
    responses: { "200": { description: "The rows, in their order." } },
  });
  const resolved = (schema: { $ref?: string }) => {
    const name = schema.$ref?.split("/").at(-1);
    return name === undefined ? schema : components.schemas[name];
  };
  const answer = resolved(post.responses["200"].content["application/json"].schema);
  expect(answer.type).toBe("array");
  const row = resolved(answer.items);
  expect(Object.keys(row.properties)).toEqual(["pos", "word", "twice", "letter", "loud", "id"]);
  expect(row.required).toHaveLength(6);
  expect(row.properties.pos.type).toEqual(["integer", "null"]);
  const body = resolved(post.requestBody.content["application/json"].schema);
  expect(Object.keys(body.properties)).toEqual(["id", "text", "title"]);
  expect(describeRoutes(tested.manifest, "api").find(({ path }) => path === "/v1/long")).toMatchObject({
    table: "long",
    outputs: ["word", "big", "small", "who", "pos"],
  });
});
