import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";

/** Two functions whose vectors depend on different letters, so the order shows which one made them. */
function app(index: string, column = "text", extra = ""): string {
  return `
import appdb as db
from appdb.serving import Router

Base = db.model_base()


def counts(text, letters):
    if text == "boom":
        raise ValueError("no vector of boom")
    return [float(text.count(letter)) for letter in letters]


@db.udf
def by_vowels(text: str) -> db.Array[(3,), db.Float]:
    return counts(text, "aei")


@db.udf
def by_others(text: str) -> db.Array[(4,), db.Float]:
    return counts(text, "bcdf")


class Notes(Base, name="notes"):
    key = db.Column(type=db.String, primary_key=True)
    ${column} = db.Column(type=db.String${extra})
${index === "" ? "" : `    __indexes__ = [db.EmbeddingIndex(${column}, ${index})]\n`}

r = Router(name="notes")
r.add_insert_route(Notes, path="/notes", inputs=["key", "${column}"])
${index === "" ? "" : `\n\ndef near(q: str): return Notes.order_by(Notes.${column}.similarity(string=q), asc=False).limit(1).select(Notes.key)\nr.add_query_route(path="/near", query=db.query(near))\n`}`;
}

const VOWELS = "embedding=by_vowels";
const OTHERS = "embedding=by_others";
let tested: TestApplication;

beforeEach(async () => {
  tested = await openTestApplication(app(""));
  await insert(tested, { vowels: "aaa b", others: "a bbb", third: "eee ddd" });
});

afterEach(() => tested?.[Symbol.asyncDispose]());

async function insert(to: ServedRoutes, rows: Readonly<Record<string, string>>, column = "text"): Promise<void> {
  for (const [key, text] of Object.entries(rows)) {
    const made = await to.post("/notes", { key, [column]: text });
    if (made.status !== 200) throw new Error(made.text);
  }
}

async function nearest(of: ServedRoutes, q: string): Promise<string> {
  const answer = await of.post("/near", { q });
  return answer.status === 200 ? answer.json.rows[0].key : answer.json.code;
}

async function table() {
  const [found] = (await loadCatalog(tested.sql)).tables;
  if (found === undefined) throw new Error("the table is gone");
  return found;
}

async function hidden(): Promise<string[]> {
  const { rows } = await tested.sql.query({
    text: `select attname from pg_attribute where attrelid = 'notes'::regclass and attname like '\\_embedding%'
      and not attisdropped order by 1`,
  });
  return rows.flat().map(String);
}

test("an index on existing rows computes vectors and graph; a second plan is empty", async () => {
  const plan = (await tested.diff(app(VOWELS))).tables[0];
  expect(plan?.ops.map((op) => op.description)).toEqual(["embedding index on (text) will be built"]);
  expect(plan?.resolution).toBe("update_additive");
  const jobs = await tested.update(app(VOWELS));
  expect(jobs).toHaveLength(2);
  await using early = await tested.serve(app(VOWELS));
  expect(await nearest(early, "a")).toBe("schema_changed");
  await tested.finish(jobs);
  expect(await nearest(early, "aab")).toBe("vowels");
  expect((await table()).indexes.map(({ kind, state }) => [kind, state])).toEqual([["embedding", "ready"]]);
  const { rows } = await tested.sql.query({
    text: "select rows_done, rows_total from appdb.jobs where kind = 'build_index'",
  });
  expect(rows).toEqual([["3", "3"]]);
  expect((await tested.diff(app(VOWELS))).in_agreement).toBe(true);
  await insert(early, { later: "iii" });
  expect(await nearest(early, "i")).toBe("later");
});

test("with another function, the old index is used until the new one is built", async () => {
  await tested.finish(await tested.update(app(VOWELS)));
  await using old = await tested.serve(app(VOWELS));
  const plan = (await tested.diff(app(OTHERS))).tables[0];
  expect(plan?.ops.map((op) => op.description)).toEqual([
    "embedding index on (text) will be rebuilt because its dimensions changed; until then the previous one is used",
  ]);
  const jobs = await tested.update(app(OTHERS));
  await using now = await tested.serve(app(OTHERS));
  // The previous index only sees the letters a, e and i, the new one b, c, d and f.
  expect(await nearest(old, "aad")).toBe("vowels");
  expect(await nearest(now, "aad")).toBe("vowels");
  expect((await tested.diff(app(OTHERS))).in_agreement).toBe(true);
  await insert(old, { old_c: "ccc" });
  await insert(now, { new_d: "ddd" });
  await tested.finish(jobs);
  await tested.finish(await openJobs());
  expect(await nearest(now, "aad")).toBe("third");
  expect(await nearest(now, "c")).toBe("old_c");
  expect((await now.post("/near", { q: "d" })).json.rows).toHaveLength(1);
  expect(await tested.sql.query({ text: "select key from notes where _embedding_text_2 is null" })).toMatchObject({
    rows: [],
  });
  expect(await hidden()).toEqual(["_embedding_text_2"]);
  expect((await table()).indexes).toHaveLength(1);
  expect((await tested.diff(app(OTHERS))).in_agreement).toBe(true);
  // The previous service continues to write, and reports queries that no longer work.
  await insert(old, { old_f: "fff" });
  await tested.finish(await openJobs());
  expect(await nearest(now, "f")).toBe("old_f");
});

test("a changed metric keeps the vectors, and can be reverted while building", async () => {
  await tested.finish(await tested.update(app(VOWELS)));
  const before = (await table()).indexes[0];
  expect(await tested.update(app(`${VOWELS}, metric="l2"`))).toHaveLength(1);
  expect((await table()).indexes.map(({ replaces }) => replaces ?? null)).toEqual([null, before?.id]);
  const back = (await tested.diff(app(VOWELS))).tables[0];
  expect(back?.ops.map((op) => op.description)).toEqual([
    "the new embedding index on (text) will not be built; the previous one stays",
  ]);
  expect(back?.resolution).toBe("update_additive");
  await tested.finish(await tested.update(app(VOWELS)));
  expect((await table()).indexes).toEqual([before]);
  await tested.finish(await tested.update(app(`${VOWELS}, metric="l2"`)));
  expect((await table()).indexes.map(({ embedding }) => embedding?.metric)).toEqual(["l2"]);
  expect(await hidden()).toEqual(["_embedding_text"]);
});

test("of two successive changes only the last one is built", async () => {
  await tested.finish(await tested.update(app(VOWELS)));
  const first = await tested.update(app(OTHERS));
  const second = await tested.update(app(`${OTHERS}, precision="fp32"`));
  await tested.finish([...first, ...second]);
  await using now = await tested.serve(app(`${OTHERS}, precision="fp32"`));
  expect(await nearest(now, "aad")).toBe("third");
  expect((await table()).indexes.map(({ embedding }) => embedding?.precision)).toEqual(["fp32"]);
  expect(await hidden()).toHaveLength(1);
});

test("a row that fails in the new function leaves the previous index intact", async () => {
  await tested.finish(await tested.update(app(VOWELS)));
  await tested.sql.query({ text: "update notes set text = 'boom' where key = 'third'" });
  await expect(tested.finish(await tested.update(app(OTHERS)))).rejects.toMatchObject({ code: "fill_failed" });
  await using old = await tested.serve(app(VOWELS));
  expect(await nearest(old, "a")).toBe("vowels");
  expect((await table()).indexes).toHaveLength(1);
  expect(await hidden()).toEqual(["_embedding_text"]);
});

test("a removed index is dropped with its vectors, even without its function", async () => {
  await tested.finish(await tested.update(app(VOWELS)));
  await tested.sql.query({ text: "delete from appdb.functions" });
  const plan = (await tested.diff(app(""))).tables[0];
  expect(plan?.ops.map(({ description, destructive }) => [description, destructive])).toEqual([
    ["embedding index on (text) will be dropped", true],
  ]);
  expect(await tested.update(app(""))).toEqual([]);
  expect(await hidden()).toEqual([]);
  expect((await table()).indexes).toEqual([]);
});

test("a renamed column keeps its vectors and its index", async () => {
  await tested.finish(await tested.update(app(VOWELS)));
  const renamed = app(VOWELS, "body", ', renamed_from="text"');
  expect(await tested.update(renamed)).toEqual([]);
  await using now = await tested.serve(renamed);
  expect(await nearest(now, "aab")).toBe("vowels");
  await insert(now, { more: "ii" }, "body");
  expect(await nearest(now, "i")).toBe("more");
  expect(await hidden()).toEqual(["_embedding_text"]);
  expect((await tested.diff(renamed)).in_agreement).toBe(true);
});

async function openJobs(): Promise<string[]> {
  const { rows } = await tested.sql.query({ text: "select id from appdb.jobs where state in ('queued', 'running')" });
  return rows.flat().map(String);
}
