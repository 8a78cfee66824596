import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";

/** Vectors of eight letter counts: similar texts have similar vectors, and they are easy to check. */
const APP = `
import appdb as db
from appdb.serving import Router

Base = db.model_base()
LETTERS = "aeioustr"


def counts(text: str) -> list:
    return [float(text.count(letter)) for letter in LETTERS]


@db.udf
def embed(text: str) -> db.Array[(8,), db.Float]:
    if text == "boom":
        raise ValueError("no vector of boom")
    return counts(text)


@db.udf
async def embed_async(text: str, scale: float = 1.0) -> db.Array[(8,), "float64"]:
    return [scale * number for number in counts(text)]


@db.udf(batch_size=16)
def embed_batch(text: db.Batch[str]) -> db.Batch[db.Array[(8,), db.Float]]:
    return [counts(one) for one in text]


@db.udf
def embed_doc(doc: dict) -> db.Array[(8,), db.Float]:
    return counts(doc["words"])


class Notes(Base, name="notes"):
    key = db.Column(type=db.String, primary_key=True)
    text: db.String | None
    doc: db.Json | None
    vector: db.Array[(3,), db.Float] | None
    size: db.Int
    __indexes__ = [
        db.EmbeddingIndex(text, embedding=embed, name="same"),
        db.EmbeddingIndex(text, embedding=embed, metric="ip", name="product"),
        db.EmbeddingIndex(text, string_embed=embed_async.using(scale=2.0), metric="l2", precision="fp32", name="far"),
        db.EmbeddingIndex(column=text, embedding=embed_batch, name="batched"),
        db.EmbeddingIndex(doc, embedding=embed_doc),
        db.EmbeddingIndex(vector, metric="l2", precision="fp32"),
        db.BtreeIndex(size),
    ]


r = Router(name="notes")
r.add_insert_route(Notes, path="/notes", inputs=["key", "text", "doc", "vector", "size"])
r.add_insert_route(Notes, path="/kept", inputs=["key", "text", "doc", "vector", "size"], on_error="ignore")
r.add_compute_route(Notes, path="/compute", inputs=["key", "text", "size"], outputs=["text"])


def serve(function):
    marked = db.query(function)
    r.add_query_route(path="/" + function.__name__, query=marked)
    return marked


def same(q: str, n: int = 3):
    sim = Notes.text.similarity(string=q, idx="same")
    return Notes.order_by(sim, asc=False).limit(n).select(Notes.key, sim=sim)
same = serve(same)
def product(q: str):
    sim = Notes.text.similarity(string=q, idx="product")
    return Notes.order_by(sim, asc=False).limit(3).select(Notes.key, sim=sim)
product = serve(product)
def far(q: str):
    sim = Notes.text.similarity(string=q, idx="far")
    return Notes.order_by(sim, asc=False).limit(3).select(Notes.key, sim=sim)
far = serve(far)
def batched(q: str | None): return Notes.order_by(Notes.text.similarity(string=q, idx="batched"), asc=False).limit(2).select(Notes.key)
batched = serve(batched)
def constant(): return Notes.order_by(Notes.text.similarity(string="seas", idx="same"), asc=False).limit(1).select(Notes.key)
constant = serve(constant)
def by_doc(q: db.Json): return Notes.order_by(Notes.doc.similarity(json=q), asc=False).limit(1).select(Notes.key)
by_doc = serve(by_doc)
def by_vector(v: db.Array[(3,), db.Float]):
    sim = Notes.vector.similarity(vector=v)
    return Notes.order_by(sim, asc=False).limit(2).select(Notes.key, sim=sim)
by_vector = serve(by_vector)
def by_list(v: db.Json): return Notes.order_by(Notes.vector.similarity(vector=v), asc=False).limit(1).select(Notes.key)
by_list = serve(by_list)
def by_any(v: db.Array[db.Float]): return Notes.order_by(Notes.text.similarity(vector=v, idx="same"), asc=False).limit(1).select(Notes.key)
by_any = serve(by_any)
def alike(q: str): return Notes.where(Notes.text.similarity(string=q, idx="same") > 0.99).select(Notes.key)
alike = serve(alike)
def unlike(q: str): return Notes.order_by(Notes.text.similarity(string=q, idx="same")).limit(1).select(Notes.key)
unlike = serve(unlike)
@db.udf
def shown(sim: float | None) -> str: return f"{sim:.3f}" if sim is not None else "none"
def told(q: str):
    sim = Notes.text.similarity(string=q, idx="same")
    return Notes.order_by(sim, asc=False).limit(1).select(told=shown(sim))
told = serve(told)
def python_filtered(q: str):
    return Notes.where(shown(Notes.text.similarity(string=q, idx="same")) == "1.000").order_by(Notes.text.similarity(string=q, idx="far"), asc=False).limit(2).select(Notes.key)
python_filtered = serve(python_filtered)
def everything(): return Notes
everything = serve(everything)
`;

let app: TestApplication;

beforeAll(async () => {
  app = await openTestApplication(APP);
  const rows = [
    { key: "sea", text: "seas", doc: { words: "tiara" }, vector: [1, 0, 0], size: 1 },
    { key: "tea", text: "tease", doc: { words: "oooo" }, vector: [0, 1, 0], size: 2 },
    { key: "moo", text: "moooo", doc: null, vector: [0, 0, 9], size: 3 },
    { key: "none", text: null, doc: null, vector: null, size: 4 },
  ];
  for (const row of rows) expect((await app.post("/notes", row)).status).toBe(200);
});

afterAll(() => app?.[Symbol.asyncDispose]());

async function keys(path: string, body: unknown): Promise<unknown[]> {
  const answer = await app.post(path, body);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.rows.map((row: { key: string }) => row.key);
}

test("nearest rows come first with their similarity; rows without a vector are omitted", async () => {
  const { json } = await app.post("/same", { q: "seas", n: 10 });
  expect(json.rows.map((row: { key: string }) => row.key)).toEqual(["sea", "tea", "moo"]);
  expect(json.rows[0].sim).toBeCloseTo(1, 3);
  // tease: a1 e2 s1 t1; seas: a1 e1 s2
  expect(json.rows[1].sim).toBeCloseTo(5 / (Math.sqrt(7) * Math.sqrt(6)), 3);
  expect(json.rows[2].sim).toBeCloseTo(0, 3);
});

test("inner product and distance are as documented; descending is nearest first", async () => {
  const product = (await app.post("/product", { q: "seas" })).json.rows;
  expect(product[0]).toEqual({ key: "sea", sim: 6 });
  expect(product[1]).toEqual({ key: "tea", sim: 5 });
  const far = (await app.post("/far", { q: "seas" })).json.rows;
  expect(far.map((row: { key: string }) => row.key)).toEqual(["sea", "tea", "moo"]);
  expect(far[0].sim).toBe(0);
  expect(far[1].sim).toBeCloseTo(2 * Math.sqrt(3), 5);
});

test("async, batched and parametrised functions make vectors, also of Json", async () => {
  expect(await keys("/batched", { q: "tease" })).toEqual(["tea", "sea"]);
  expect(await keys("/constant", {})).toEqual(["sea"]);
  expect(await keys("/by_doc", { q: { words: "o" } })).toEqual(["tea"]);
});

test("a vector can be an array or list of the index's length", async () => {
  const { json } = await app.post("/by_vector", { v: [0, 0, 8] });
  expect(json.rows).toEqual([
    { key: "moo", sim: 1 },
    { key: "sea", sim: expect.closeTo(Math.sqrt(65), 4) },
  ]);
  expect(await keys("/by_list", { v: [0, 2, 0] })).toEqual(["tea"]);
  expect(await keys("/by_any", { v: [0, 0, 0, 1, 0, 0, 0, 0] })).toEqual(["moo"]);
  for (const [path, v, detail] of [
    [
      "/by_any",
      [1, 2],
      "v: The vector has 2 numbers, but the embedding index on notes.text ('same') has vectors of 8 numbers.",
    ],
    [
      "/by_list",
      [1, 2],
      "v: The vector has 2 numbers, but the embedding index on notes.vector has vectors of 3 numbers.",
    ],
    ["/by_list", [1, "a", 2], "v: Element 1 of the vector is not a number, but"],
    ["/by_list", { a: 1 }, "v: The value is not a list, but"],
    ["/by_vector", [1, 2], "v: "],
  ] as const) {
    const refused = await app.post(path, { v });
    expect(refused.status).toBe(422);
    expect(refused.json.detail).toContain(detail);
    expect(refused.json.errors[0].pointer).toMatch(/^\/v/);
  }
});

test("a null search value is similar to nothing", async () => {
  expect((await app.post("/batched", { q: null })).status).toBe(200);
});

test("a similarity can be compared, sorted ascending, and passed to functions", async () => {
  expect(await keys("/alike", { q: "sseeaa" })).toEqual([]);
  expect(await keys("/alike", { q: "ssea" })).toEqual(["sea"]);
  expect(await keys("/unlike", { q: "seas" })).toEqual(["moo"]);
  expect((await app.post("/told", { q: "seas" })).json.rows).toEqual([{ told: "1.000" }]);
  expect(await keys("/python_filtered", { q: "seas" })).toEqual(["sea"]);
});

test("a failing function is reported before a row is stored or searched", async () => {
  const insert = await app.post("/notes", { key: "x", text: "boom", doc: null, vector: null, size: 1 });
  expect(insert.status).toBe(400);
  expect(insert.json).toMatchObject({ code: "function_failed" });
  expect(insert.json.detail).toMatch(/^Column notes\.text \(embedding index \w+\): .*no vector of boom/);
  expect(insert.json.meta).toMatchObject({ column: "text", embedding_index: expect.any(String) });
  const asked = await app.post("/same", { q: "boom" });
  expect(asked.json).toMatchObject({ code: "function_failed" });
  expect(asked.json.detail).toContain("The query same, similarity: ");
  const kept = await app.post("/kept", { key: "x", text: "boom", doc: null, vector: null, size: 1 });
  expect(kept.status).toBe(200);
  expect(kept.headers["x-cell-errors"]).toMatch(/^(text;embedding_index="\w+";type="ValueError"(, |$))+$/);
  expect(await keys("/same", { q: "seas", n: 10 })).toEqual(["sea", "tea", "moo"]);
  await app.sql.query({ text: "delete from notes where key = 'x'" });
});

test("vector columns are hidden, and a compute route does not make them", async () => {
  const { json } = await app.post("/everything", {});
  expect(Object.keys(json.rows[0])).toEqual(["key", "text", "doc", "vector", "size"]);
  expect((await app.post("/compute", { key: "x", text: "boom", size: 1 })).json).toEqual({ text: "boom" });
});
