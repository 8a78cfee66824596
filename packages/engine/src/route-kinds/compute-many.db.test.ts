import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";
import type { Spool } from "../ports.ts";
import { columnFrame } from "../rows/testing/column-frames.ts";
import { computeOver } from "./compute.ts";

const APP = `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper

Base = db.model_base()

class Word(TypedDict):
    word: str

@db.iterator
def words(text: str) -> Iterator[Word]:
    for word in text.split():
        if word == "boom":
            raise ValueError("boom")
        yield {"word": word}

@db.udf
def shouted(text: str) -> str:
    if text == "bad":
        raise ValueError("bad text")
    return text + "!"

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    n: db.Int | None
    big = upper(title)
    loud = shouted(title)
    tenth = 10 // n

class Long(Base, name="long", base=Doc.where(Doc.n > 1)):
    twice = shouted(Doc.loud)

class W(Base, name="words", base=Doc, iterator=words(Doc.title)):
    cry = shouted(word)
    again = db.Column(value=shouted(word), stored=False)
`;

let tested: TestApplication;

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

/** Sends rows to the route that computes a table or view, over outputs. */
async function compute(name: string, outputs: readonly string[], rows: unknown, onError: "abort" | "ignore" = "abort") {
  const route = { ...computeOver(tested.manifest, name, outputs), on_error: onError };
  const service = { name: "computes", prefix: "", routes: [route], source: route.source };
  await using served = await tested.serveManifest({ ...tested.manifest, services: [service] });
  return await served.post(`/${name}`, rows);
}

const DOCS = ["id", "title", "n", "big", "loud", "tenth"];
const rowsOf = (count: number) => Array.from({ length: count }, (_, id) => ({ id, title: `t${id}`, n: id + 1 }));

test("computes the rows of an array in their order and stores none", async () => {
  tested = await openTestApplication(APP);
  const { json, status, text } = await compute("docs", DOCS, rowsOf(1_203));
  expect(status, text.slice(0, 500)).toBe(200);
  expect(json).toHaveLength(1_203);
  expect(json[1_202]).toEqual({ id: 1202, title: "t1202", n: 1203, big: "T1202", loud: "t1202!", tenth: 0 });
  expect((await compute("docs", DOCS, [])).json).toEqual([]);
  expect((await compute("docs", ["loud"], { title: "one" })).json).toEqual([{ loud: "one!" }]);
  expect((await compute("docs", ["loud"], 5)).json).toMatchObject({
    code: "invalid_request",
    errors: [{ pointer: "/0" }],
  });
  expect((await tested.sql.query({ text: "select count(*) from docs" })).rows).toEqual([["0"]]);
});

test("a row needs only the columns that its outputs read", async () => {
  tested = await openTestApplication(APP);
  expect((await compute("docs", ["big"], [{ title: "a" }, { title: "b", id: 1 }])).json).toEqual([
    { big: "A" },
    { big: "B" },
  ]);
  const refused = await compute("docs", ["big"], [{ title: "a" }, { id: 1 }, { title: "c", titel: "d" }]);
  expect(refused.json.errors).toEqual([
    expect.objectContaining({ pointer: "/1/title", detail: expect.stringContaining("required") }),
    expect.objectContaining({ pointer: "/2/titel" }),
  ]);
});

test("an error names its row, of a function and of SQL", async () => {
  tested = await openTestApplication(APP);
  const raised = await compute("docs", ["loud"], [{ title: "a" }, { title: "bad" }]);
  expect(raised.json).toMatchObject({ code: "function_failed", meta: { row: 1 }, errors: [{ pointer: "/1" }] });
  const divided = await compute("docs", ["tenth"], [{ n: 1 }, { n: 2 }, { n: 0 }]);
  expect(divided.json).toMatchObject({ code: "function_failed", meta: { row: 2, column: "tenth" } });
});

test("with ignore, a failed cell is null and the row has its error", async () => {
  tested = await openTestApplication(APP);
  const sent = [
    { id: 1, title: "bad", n: 0 },
    { id: 2, title: "b", n: 5 },
  ];
  const { headers, json } = await compute("docs", DOCS, sent, "ignore");
  expect(json).toEqual([
    {
      ...sent[0],
      big: "BAD",
      loud: null,
      tenth: null,
      _errors: {
        loud: { type: "ValueError", message: "bad text", function: "app:shouted" },
        tenth: expect.objectContaining({ type: "ZeroDivisionError" }),
      },
    },
    { ...sent[1], big: "B", loud: "b!", tenth: 2 },
  ]);
  expect(headers["x-cell-errors"]).toBe("loud;rows=1, tenth;rows=1");
  expect((await compute("docs", ["big", "loud"], [{ title: "bad" }], "ignore")).json[0]._errors).toHaveProperty("loud");
});

test("a view leaves out rows, and names its own columns in errors", async () => {
  tested = await openTestApplication(APP);
  const sent = [
    { id: 1, title: "a", n: 1 },
    { id: 2, title: "b", n: 2 },
    { id: 3, title: "bad", n: 3 },
    { id: 4, title: "d", n: null },
  ];
  const { json } = await compute("long", ["id", "twice"], sent, "ignore");
  expect(json).toEqual([
    { id: 2, twice: "b!!" },
    { id: 3, twice: null, _errors: { twice: expect.objectContaining({ type: "CellError", column: "loud" }) } },
  ]);
  expect((await compute("long", ["twice"], sent.slice(0, 1))).json).toEqual([]);
});

test("an iterator view returns the rows of all rows, each with its own errors", async () => {
  tested = await openTestApplication(APP);
  const sent = [
    { id: 1, title: "to bad be" },
    { id: 2, title: "" },
    { id: 3, title: "or boom" },
    { id: 4, title: "not" },
  ];
  const { headers, json } = await compute("words", ["id", "pos", "word", "cry", "again"], sent, "ignore");
  const failed = expect.objectContaining({ type: "ValueError", message: "bad text" });
  expect(json).toEqual([
    { id: 1, pos: 0, word: "to", cry: "to!", again: "to!" },
    { id: 1, pos: 1, word: "bad", cry: null, again: null, _errors: { cry: failed, again: failed } },
    { id: 1, pos: 2, word: "be", cry: "be!", again: "be!" },
    { id: 4, pos: 0, word: "not", cry: "not!", again: "not!" },
  ]);
  expect(headers["x-cell-errors"]).toBe("words;rows=2");
  const refused = await compute("words", ["again"], [{ title: "to be" }, { title: "bad" }]);
  expect(refused.json).toMatchObject({ code: "function_failed", meta: { row: 1 } });
  const { json: few } = await compute("words", ["word"], [{ title: "a b" }, { title: "c" }]);
  expect(few).toEqual([{ word: "a" }, { word: "b" }, { word: "c" }]);
});

test("rows and made rows are limited by their number", async () => {
  tested = await openTestApplication(APP, { insert_rows: 3 } as never);
  expect((await compute("docs", ["big"], rowsOf(4))).json).toMatchObject({ code: "payload_too_large" });
  const made = await compute("words", ["word"], [{ title: "a b" }, { title: "c d" }]);
  expect(made.json).toMatchObject({ code: "result_too_large", meta: { limit: "insert_rows", value: 3 } });
});

test("a response is limited by its bytes", async () => {
  tested = await openTestApplication(APP, { compute_bytes: 1_000 } as never);
  expect((await compute("docs", ["big"], rowsOf(40))).status).toBe(200);
  const { json } = await compute("docs", ["big"], rowsOf(200));
  expect(json).toMatchObject({ code: "result_too_large", meta: { limit: "compute_bytes", value: 1_000 } });
  expect(json.hint).toContain("SERVICE_COMPUTE_BYTES");
});

test("made rows of single rows are limited by the bytes that one process holds", async () => {
  tested = await openTestApplication(APP, { made_bytes: 50 } as never);
  const { many_rows: _, ...route } = computeOver(tested.manifest, "words", ["word"]);
  const service = { name: "computes", prefix: "", routes: [route], source: route.source };
  await using served = await tested.serveManifest({ ...tested.manifest, services: [service] });
  const row = (title: string) => ({ id: 1, title, n: 1 });
  expect((await served.post("/words", row("to be"))).json).toEqual([{ word: "to" }, { word: "be" }]);
  const refused = await served.post("/words", row("a longer text of many words"));
  expect(refused.json).toMatchObject({ code: "overloaded", meta: { limit: "made_bytes", value: 50 } });
  expect((await served.post("/words", row("or not"))).status).toBe(200);
});

const MANY = `
from typing import Iterator, TypedDict

import appdb as db

Base = db.model_base()

class Item(TypedDict):
    item: str

@db.iterator
def items(pad: str, n: int) -> Iterator[Item]:
    for at in range(n):
        yield {"item": str(at)}

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    pad: db.String
    n: db.Int

class Items(Base, name="items", base=Doc, iterator=items(Doc.pad, Doc.n)):
    pass
`;

/** A spool that keeps the size of each write. */
function countingSpool() {
  const sizes: number[] = [];
  const pieces: Uint8Array[] = [];
  const spool: Spool = {
    get bytes() {
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    async write(piece) {
      const written = Buffer.from(piece);
      sizes.push(written.length);
      pieces.push(written);
    },
    async *read() {
      yield* pieces;
    },
    async [Symbol.asyncDispose]() {},
  };
  return { sizes, spool };
}

test("made rows go to the spool part by part, and neither a batch nor a row is held as text", async () => {
  tested = await openTestApplication(MANY);
  const route = computeOver(tested.manifest, "items", ["pad", "item"]);
  const service = { name: "computes", prefix: "", routes: [route], source: route.source };
  const { sizes, spool } = countingSpool();
  const manifest = { ...tested.manifest, services: [service] };
  await using served = await tested.serveManifest(manifest, { openSpool: () => spool });
  // 6 rows make 6 × 5,000 rows of some 1,000 bytes each.
  const sent = Array.from({ length: 6 }, (_none, id) => ({ id, pad: `${id}`.repeat(1_000), n: 5_000 }));
  const { json, status } = await served.post("/items", sent);
  expect([status, json.length]).toEqual([200, 30_000]);
  expect(json[29_999]).toEqual({ pad: "5".repeat(1_000), item: "4999" });
  expect(Math.max(...sizes)).toBeLessThan(1_100_000);
  expect(sizes.length).toBeGreaterThan(30);
});

test("the made rows of one row and of a request end at their limits while they are written", async () => {
  tested = await openTestApplication(MANY, { insert_rows: 1_000, result_rows: 900, result_bytes: 100_000 } as never);
  const row = (id: number, n: number, pad = "p") => ({ id, pad, n });
  const many = await compute("items", ["item"], [row(1, 1), row(2, 901)]);
  expect(many.json).toMatchObject({ code: "result_too_large", meta: { limit: "result_rows", value: 900, row: 1 } });
  const large = await compute("items", ["pad", "item"], [row(1, 1), row(2, 200, "p".repeat(1_000))]);
  expect(large.json).toMatchObject({ code: "result_too_large", meta: { limit: "result_bytes", row: 1 } });
  const wide = await compute("items", ["pad", "item"], [row(1, 300, "é".repeat(200))]);
  expect(wide.json).toMatchObject({ code: "result_too_large", meta: { limit: "result_bytes" } });
  const all = await compute("items", ["item"], [row(1, 800), row(2, 200), row(3, 1)]);
  expect(all.json).toMatchObject({ code: "result_too_large", meta: { limit: "insert_rows", value: 1_000 } });
  expect((await compute("items", ["item"], [row(1, 800), row(2, 200)])).json).toHaveLength(1_000);
});

test("lines get lines, and frames of columns too", async () => {
  tested = await openTestApplication(APP);
  const route = computeOver(tested.manifest, "docs", ["title", "loud"]);
  const service = { name: "computes", prefix: "", routes: [route], source: route.source };
  await using served = await tested.serveManifest({ ...tested.manifest, services: [service] });
  const [compiled] = served.endpoints.routes;
  const send = async (bytes: Uint8Array, hasColumns: boolean) => {
    const stream = (async function* () {
      yield bytes;
    })();
    const request = { body: "", stream, has_columns: hasColumns, headers: {}, id: "r" };
    const { body } = (await compiled?.handle(request)) ?? {};
    const pieces: Uint8Array[] = [];
    for await (const piece of body as AsyncIterable<Uint8Array>) pieces.push(piece);
    return Buffer.concat(pieces).toString("utf8");
  };
  const wanted = '{"title":"a","loud":"a!"}\n{"title":"b","loud":"b!"}\n';
  expect(await send(Buffer.from('{"title":"a"}\n\n{"title":"b"}'), false)).toBe(wanted);
  expect(await send(columnFrame([{ name: "title", form: "utf8", values: ["a", "b"] }]), true)).toBe(wanted);
});

test("bodies that do not end leave other requests their slots", async () => {
  tested = await openTestApplication(APP);
  const route = computeOver(tested.manifest, "docs", ["big"]);
  const service = { name: "computes", prefix: "", routes: [route], source: route.source };
  await using served = await tested.serveManifest({ ...tested.manifest, services: [service] });
  const [compiled] = served.endpoints.routes;
  const ended = signal();
  const slow = [signal(), signal()].map(({ happened, happen }) => {
    const stream = (async function* () {
      // a whole batch, then a part of the next
      yield Buffer.from('{"title":"a"}\n'.repeat(501));
      happen();
      await ended.happened;
    })();
    return { happened, answer: compiled?.handle({ body: "", stream, headers: {}, id: "r" }) };
  });
  await Promise.all(slow.map(({ happened }) => happened));
  expect((await served.post("/docs", [{ title: "b" }])).json).toEqual([{ big: "B" }]);
  ended.happen();
  for (const { answer } of slow) {
    const body = (await answer)?.body;
    const pieces: Uint8Array[] = [];
    for await (const piece of body as AsyncIterable<Uint8Array>) pieces.push(piece);
    expect(Buffer.concat(pieces).toString("utf8")).toBe('{"big":"A"}\n'.repeat(501));
  }
});

test("rows that are sent and not computed have a limit of bytes, in each form", async () => {
  tested = await openTestApplication(APP, { body_bytes: 200_000 } as never);
  const many = computeOver(tested.manifest, "docs", ["title"]);
  const service = { name: "computes", prefix: "", routes: [many], source: many.source };
  await using served = await tested.serveManifest({ ...tested.manifest, services: [service] });
  const [compiled] = served.endpoints.routes;
  const line = (letters: number) => Buffer.from(`{"title":"${"x".repeat(letters)}"}\n`);
  const arrived = [signal(), signal(), signal()];
  const ended = signal();
  const lines = arrived.map(({ happen }) => {
    const stream = (async function* () {
      // without the end of the line
      yield line(130_000).subarray(0, -2);
      happen();
      await ended.happened;
      yield Buffer.from("}\n");
    })();
    return compiled?.handle({ body: "", stream, headers: {}, id: "r" });
  });
  await Promise.all(arrived.map(({ happened }) => happened));
  const refusal = { code: "overloaded", meta: { limit: "body_bytes", value: 200_000 } };
  const long = { id: 1, title: "y".repeat(150_000), n: 1 };
  for (const sent of [[long], long]) expect((await served.post("/docs", sent)).json).toMatchObject(refusal);
  const sent = (async function* () {
    yield line(150_000);
  })();
  const refused = await compiled?.handle({ body: "", stream: sent, headers: {}, id: "r" });
  expect(JSON.parse(String(refused?.body))).toMatchObject(refusal);
  // small ones are computed at any time
  expect((await served.post("/docs", [{ title: "y" }])).json).toEqual([{ title: "y" }]);
  ended.happen();
  for (const answer of lines) expect((await answer)?.status).toBe(200);
  expect((await served.post("/docs", [long])).json).toEqual([{ title: long.title }]);
});

function signal(): { readonly happened: Promise<void>; readonly happen: () => void } {
  let happen = () => {};
  const happened = new Promise<void>((resolve) => {
    happen = resolve;
  });
  return { happened, happen };
}
