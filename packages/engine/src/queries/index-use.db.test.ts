import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { explainQuery } from "../endpoints/explain-query.ts";

const APP = `
import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Notes(Base, name="notes"):
    author = db.Column(type=db.String, primary_key=True)
    number = db.Column(type=db.Int, primary_key=True)
    title: db.String | None
    loud = fn.upper(title)
    at: db.Timestamp
    place: db.String
    shelf: db.String
    tag: db.UUID
    size: db.Float
    plain: db.Int
    __indexes__ = [
        db.BtreeIndex(title), db.BtreeIndex(loud), db.BtreeIndex(at), db.BtreeIndex(place, shelf), db.BtreeIndex(tag),
        db.BtreeIndex(size), db.BtreeIndex(number),
    ]


class Everything(Base, name="everything", has_default_idxs=True):
    sku = db.Column(type=db.String, primary_key=True)
    day: db.Date
    word: db.String
    half = fn.lower(word)


QUERIES = {
    "by_key": lambda a: Notes.where((Notes.author == a) & (Notes.number == 3)),
    "title_is": lambda a: Notes.where(Notes.title == a),
    "title_is_long": lambda a: Notes.where(Notes.title == "x" * 700),
    "title_from": lambda a: Notes.where(Notes.title >= a).order_by(Notes.title).limit(10),
    "title_between": lambda a: Notes.where((Notes.title > a) & ("title 10002" > Notes.title)),
    "title_in": lambda a: Notes.where(Notes.title.isin([a, "title 7", "y" * 700])),
    "title_null": lambda a: Notes.where(Notes.title == None),
    "title_either": lambda a: Notes.where((Notes.title == a) | (Notes.title == "title 9")),
    "titles_first": lambda a: Notes.order_by(Notes.title).limit(10),
    "titles_last": lambda a: Notes.order_by(Notes.title, asc=False).limit(10).select(Notes.title),
    "titles_tail": lambda a: Notes.order_by(Notes.title).select(Notes.title).tail(10),
    "loud_is": lambda a: Notes.where(Notes.loud == a),
    "newest": lambda a: Notes.order_by(Notes.at, asc=False).limit(10),
    "place_is": lambda a: Notes.where(Notes.place == a),
    "place_and_shelf": lambda a: Notes.where((Notes.place == a) & (Notes.shelf == "shelf 3")),
    "shelves_of_place": lambda a: Notes.where(Notes.place == a).order_by(Notes.shelf).limit(10),
    "size_in": lambda a: Notes.where(Notes.size.isin([1.5, 2.5])),
    "size_between": lambda a: Notes.where((Notes.size >= 10.0) & (Notes.size < 11.0)),
    "maybe": lambda a: Notes.where((a == "") | (Notes.title == a)),
    "default_word": lambda a: Everything.where(Everything.word == a),
    "default_half": lambda a: Everything.where(Everything.half == a),
    "default_day": lambda a: Everything.order_by(Everything.day).limit(5),
    "default_sku_order": lambda a: Everything.order_by(Everything.sku).limit(5),
    "unindexed": lambda a: Notes.where(Notes.plain == 3),
    "joined": lambda a: Everything.join(Notes, on=Everything.word == Notes.title).where(Everything.sku == a).select(Notes.at),
}
`;

/** Every query is a function of the module; a decorator sees its name there. */
const NAMES = [...APP.matchAll(/^ {4}"(\w+)": lambda/gm)].map(([, name]) => name ?? "");
const FILE = `${APP}
r = Router(name="notes")
r.add_insert_route(Notes, path="/notes", inputs=["author", "number", "title", "at", "place", "shelf", "tag", "size", "plain"])
r.add_delete_route(Notes, path="/delete-title", match_columns=["title"])
r.add_delete_route(Notes, path="/delete-place", match_columns=["place", "shelf"])
${NAMES.map((name) => `\n\ndef ${name}(a: str): return QUERIES["${name}"](a)\n${name} = db.query(${name})\nr.add_query_route(path="/${name}", query=${name}, method="get")`).join("")}
`;

let app: TestApplication;

beforeAll(async () => {
  app = await openTestApplication(FILE);
  await app.sql.query({
    text: `insert into notes (_row, author, number, title, loud, at, place, shelf, tag, size, plain)
      select uuidv7(), 'author ' || i, i % 7, t, upper(t), '2024-01-01Z'::timestamptz + i * interval '1 minute',
        'place ' || i % 500, 'shelf ' || i % 40, gen_random_uuid(), i / 2.0, i % 9
      from (select i, case when i % 5000 = 0 then null else 'title ' || i end as t from generate_series(1, 20000) i) as rows`,
  });
  await app.sql.query({
    text: `insert into everything (_row, sku, day, word, half)
      select uuidv7(), 'sku ' || i, '2024-01-01'::date + i, 'Word ' || i, 'word ' || i from generate_series(1, 20000) i`,
  });
  await app.sql.query({ text: "analyze" });
});

afterAll(() => app?.[Symbol.asyncDispose]());

async function planOf(query: string, a: string): Promise<string> {
  const input = { manifest: app.manifest, target: "main", query, params: { a }, analyze: false };
  return (await explainQuery(app.sql, { ...input, limits: DEFAULT_LIMITS })).plan.join("\n");
}

const BY_TITLE = '"notes(title)"';
const BY_PLACE = '"notes(place,shelf)"';

test.each([
  ["by_key", "author 7", '"notes.key"'],
  ["title_is", "title 7", BY_TITLE],
  ["title_is_long", "", BY_TITLE],
  ["title_from", "title 19", BY_TITLE],
  ["title_between", "title 10000", BY_TITLE],
  ["title_in", "title 8", BY_TITLE],
  ["title_null", "", BY_TITLE],
  ["title_either", "title 8", BY_TITLE],
  ["titles_first", "", BY_TITLE],
  ["titles_last", "", BY_TITLE],
  ["titles_tail", "", BY_TITLE],
  ["loud_is", "TITLE 7", '"notes(loud)"'],
  ["newest", "", '"notes(at)"'],
  ["place_is", "place 7", BY_PLACE],
  ["place_and_shelf", "place 3", BY_PLACE],
  ["shelves_of_place", "place 3", BY_PLACE],
  ["size_in", "", '"notes(size)"'],
  ["size_between", "", '"notes(size)"'],
  ["maybe", "title 3", BY_TITLE],
  ["default_word", "Word 3", '"everything(word)"'],
  ["default_half", "word 3", '"everything(half)"'],
  ["default_day", "", '"everything(day)"'],
  ["default_sku_order", "", '"everything(sku)"'],
])("%s uses its index", async (query, a, index) => {
  const plan = await planOf(query, a);
  expect(plan).toContain(index);
  expect(plan).not.toMatch(/Seq Scan on (notes|everything)/);
});

test("a comparison on a column without an index scans the table", async () => {
  expect(await planOf("unindexed", "")).toContain("Seq Scan on notes");
});

test("texts that differ after the indexed prefix are distinguished and sorted", async () => {
  const alike = "w".repeat(650);
  const texts = [`${alike}b`, `${alike}a`, `${alike}c`, alike];
  for (const [at, title] of texts.entries()) {
    const row = {
      author: `a${at}`,
      number: 1,
      at: "2024-01-01T00:00:00Z",
      place: alike + at,
      shelf: alike,
      size: 0,
      plain: 0,
    };
    const made = await app.post("/notes", { ...row, title, tag: "01890a5d-ac96-774b-bcce-b302099a8057" });
    expect(made.status).toBe(200);
  }
  const titles = async (path: string): Promise<string[]> =>
    (await app.get(path)).json.rows.map((row: { title: string }) => row.title);
  expect(await titles(`/title_is?a=${alike}b`)).toEqual([`${alike}b`]);
  expect(await titles(`/title_from?a=${alike}`)).toEqual([...texts].sort());
  expect(await titles(`/title_in?a=${alike}a`)).toEqual([`${alike}a`, "title 7"].reverse());
  expect((await titles("/titles_last?a=")).slice(0, 5)).toEqual([null, null, null, null, `${alike}c`]);
  expect((await titles("/titles_tail?a=")).at(-5)).toBe(`${alike}c`);
  expect(await titles(`/shelves_of_place?a=${alike}3`)).toEqual([alike]);
});

// These come last: they delete rows.
test.each([
  ["/delete-title", { title: "title 7" }, BY_TITLE, 1],
  ["/delete-title", { title: "x".repeat(700) }, BY_TITLE, 0],
  ["/delete-title", { title: null }, BY_TITLE, 4],
  ["/delete-place", { place: "place 20", shelf: "shelf 20" }, BY_PLACE, 20],
])("%s finds the rows of %j by its index", async (path, body, index, numRows) => {
  app.statements();
  expect((await app.post(path, body)).json).toEqual({ num_rows: numRows });
  const deleted = app.statements().find(({ text }) => text.startsWith("delete from"));
  const { rows } = await app.sql.query({ text: `explain ${deleted?.text}`, values: deleted?.values ?? [] });
  const plan = rows.flat().join("\n");
  expect(plan).toContain(index);
  expect(plan).not.toContain("Seq Scan on notes");
});
