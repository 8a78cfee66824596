import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { startRecompute } from "../jobs/plan-recompute.ts";

interface Names {
  readonly doc?: string;
  readonly body?: string;
  readonly note?: string;
  readonly loud?: string;
  readonly word?: string;
  readonly big?: string;
  /** Names of an earlier version: `new: "old"`. */
  readonly was?: Readonly<Record<string, string>>;
  /** Text that the functions refuse. */
  readonly bad?: string;
  readonly least?: number;
}

/** A table with a view of each kind. Every name can differ. */
function appWith(names: Names = {}): string {
  const { doc = "docs", body = "body", note = "notes", loud = "loud", word = "words", big = "big" } = names;
  const { was = {}, bad = "never", least = 1 } = names;
  const from = (name: string): string => (was[name] === undefined ? "" : `, renamed_from="${was[name]}"`);
  const column = (name: string, value: string): string =>
    was[name] === undefined ? `${name} = ${value}` : `${name} = db.Column(value=${value}${from(name)})`;
  return `
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()

class Part(TypedDict):
    word: str

@db.iterator
def parts(text: str, least: int = 1) -> Iterator[Part]:
    for word in text.split():
        if len(word) >= least:
            yield {"word": word}

@db.udf
def shouted(text: str) -> str:
    if text == "${bad}":
        raise ValueError("bad text")
    return text.upper() + "!"

@db.udf
def lengths(text: str) -> db.Array[(2,), db.Float]:
    return [float(len(text)), 1.0]

class Doc(Base, name="${doc}"${from(doc)}):
    id = db.Column(type=db.Int, primary_key=True)
    kind: db.String
    ${body} = db.Column(type=db.String${from(body)})
    low = shouted(kind)

class Note(Base, name="${note}", base=Doc.where(Doc.kind.contains("note"))${from(note)}):
    ${column(loud, `shouted(Doc.${body})`)}
    twice = ${loud} + ${loud}
    __indexes__ = [db.BtreeIndex(twice, name="by_twice"), db.EmbeddingIndex(twice, embedding=lengths)]

class W(Base, name="${word}", base=Doc, iterator=parts(Doc.${body}, least=${least})${from(word)}):
    ${column(big, "shouted(word)")}
    of = word + Doc.kind
    again = ${big} + ${big}

@db.query
def notes():
    return Note.order_by(Note.id).select(Note.id, Note.${loud}, Note.twice)

@db.query
def words():
    return W.order_by(W.id, W.pos).select(W.id, W.pos, W.word, W.${big}, W.of, W.again, W.low)

api = Router(name="api")
api.add_insert_route(Doc, path="/add", on_error="ignore")
api.add_query_route(path="/notes", query=notes, method="get")
api.add_query_route(path="/words", query=words, method="get")
`;
}

let tested: TestApplication;
let other: ServedRoutes | undefined;

afterEach(async () => {
  await other?.[Symbol.asyncDispose]();
  other = undefined;
  await tested?.[Symbol.asyncDispose]();
});

async function open(names: Names = {}): Promise<void> {
  tested = await openTestApplication(appWith(names));
  for (const [id, kind, body] of [
    [1, "note", "to be"],
    [2, "other", "or not"],
  ]) {
    const { status, text } = await tested.post("/add", { id, kind, [names.body ?? "body"]: body });
    expect(status, text).toBe(200);
  }
}

/** Values of the views, without the names of the columns. */
async function values(served: ServedRoutes = tested): Promise<string[]> {
  const found: string[] = [];
  for (const path of ["/notes", "/words"]) {
    const { status, json, text } = await served.get(path);
    expect(status, text).toBe(200);
    found.push(...json.rows.map((row: object) => Object.values(row).join(" ")));
  }
  return found;
}

const FIRST = [
  "1 TO BE! TO BE!TO BE!",
  "1 0 to TO! tonote TO!TO! NOTE!",
  "1 1 be BE! benote BE!BE! NOTE!",
  "2 0 or OR! orother OR!OR! OTHER!",
  "2 1 not NOT! notother NOT!NOT! OTHER!",
];

test.each<{ what: string; names: Names }>([
  { what: "the base", names: { doc: "papers", was: { papers: "docs" } } },
  { what: "a column that both views read", names: { body: "content", was: { content: "body" } } },
  { what: "a filtered view", names: { note: "remarks", was: { remarks: "notes" } } },
  { what: "a column of a filtered view", names: { loud: "noisy", was: { noisy: "loud" } } },
  { what: "an iterator view", names: { word: "pieces", was: { pieces: "words" } } },
  { what: "a column of an iterator view", names: { big: "huge", was: { huge: "big" } } },
  {
    what: "everything",
    names: {
      doc: "papers",
      body: "content",
      note: "remarks",
      loud: "noisy",
      word: "pieces",
      big: "huge",
      was: { papers: "docs", content: "body", remarks: "notes", noisy: "loud", pieces: "words", huge: "big" },
    },
  },
])("a rename of $what keeps all values and computes nothing", async ({ names }) => {
  await open();
  expect(await values()).toEqual(FIRST);
  const renamed = appWith(names);
  expect(await tested.update(renamed)).toEqual([]);
  expect((await tested.diff(renamed)).in_agreement).toBe(true);
  other = await tested.serve(renamed);
  expect(await values(other)).toEqual(FIRST);
  const { status, text } = await other.post("/add", { id: 3, kind: "note", [names.body ?? "body"]: "that" });
  expect(status, text).toBe(200);
  expect(await values(other)).toEqual([
    ...FIRST.slice(0, 1),
    "3 THAT! THAT!THAT!",
    ...FIRST.slice(1),
    "3 0 that THAT! thatnote THAT!THAT! NOTE!",
  ]);
  const later = appWith({ ...names, was: {} });
  expect((await tested.diff(later)).in_agreement).toBe(true);
});

test("undeclared views follow a rename of their base, of its key and of its columns", async () => {
  await open();
  const base = (names: Names) =>
    appWith(names)
      .replace(/class Note[\s\S]*?(?=@db.query\ndef notes)/, "")
      .replace(/@db.query[\s\S]*?(?=api = Router)/, "")
      .replace(/api.add_query_route.*\n/g, "")
      .replace(
        "id = db.Column(type=db.Int, primary_key=True)",
        'number = db.Column(type=db.Int, primary_key=True, renamed_from="id")',
      );
  const renamed = base({ doc: "papers", body: "content", was: { papers: "docs", content: "body" } });
  expect(await tested.update(renamed)).toEqual([]);
  expect((await tested.diff(renamed)).extras).toEqual(["main/notes", "main/words"]);
  const { tables, views } = await loadCatalog(tested.sql);
  expect(tables.find(({ name }) => name === "words")?.rows_of).toMatchObject({ table: "papers" });
  expect(views[0]?.definition).toMatchObject({ base: "papers" });
  expect(views[0]?.definition.columns.slice(0, 3)).toEqual([
    { name: "id", column: "number" },
    { name: "kind", column: "kind" },
    { name: "body", column: "content" },
  ]);
  other = await tested.serve(renamed);
  expect((await other.post("/add", { number: 1, kind: "note", content: "taken" })).text).toContain("1");
  const { status, text } = await other.post("/add", { number: 3, kind: "note", content: "that" });
  expect(status, text).toBe(200);
  await tested.sql.query({ text: "delete from papers where number = 2" });
  const { rows } = await tested.sql.query({ text: "select word from words order by word" });
  expect(rows.flat()).toEqual(["be", "to"]);
});

test("a rename of a view without columns of its own keeps its named index", async () => {
  const view = (name: string, from = "") =>
    `${appWith().replace(/api = Router/, (found) => {
      return `
class Plain(Base, name="${name}", base=Doc.where(Doc.kind == "note")${from}):
    __indexes__ = [db.BtreeIndex(Doc.kind, name="by_kind")]

${found}`;
    })}`;
  tested = await openTestApplication(view("plain"));
  const index = async () =>
    (
      await tested.sql.query({
        text: "select i.id, i.name, c.oid from appdb.indexes i join pg_class c on c.relname = i.sql_name where i.name like '%.by_kind'",
      })
    ).rows;
  const before = (await index())[0];
  expect(before?.[1]).toBe("plain.by_kind");
  const renamed = view("simple", ', renamed_from="plain"');
  const plan = await tested.diff(renamed);
  expect(plan.tables.flatMap(({ ops }) => ops.map(({ description }) => description))).toEqual([
    "the view will be renamed from 'plain'; its values, indexes and errors stay",
  ]);
  expect(await tested.update(renamed)).toEqual([]);
  expect(await index()).toEqual([[before?.[0], "simple.by_kind", before?.[2]]]);
  expect((await tested.diff(renamed)).in_agreement).toBe(true);
  expect((await tested.diff(view("simple"))).in_agreement).toBe(true);
});

async function recompute(table: string, columns: string[], onError: "abort" | "ignore" = "abort"): Promise<void> {
  const request = { folder: "public", table, columns, cascade: true, on_error: onError, errors_only: false };
  const { job = "" } = await tested.sql.transaction((connection) => startRecompute(connection, request));
  await tested.finish([job]);
}

test("a recompute by a view's name computes its own columns", async () => {
  await open();
  await tested.sql.query({ text: `update docs set "notes.loud" = 'stale', "notes.twice" = 'stale'` });
  await tested.sql.query({ text: "update words set big = 'stale', again = 'stale'" });
  await recompute("notes", ["loud"]);
  await recompute("words", ["big"]);
  expect(await values()).toEqual(FIRST);
  const { rows } = await tested.sql.query({ text: `select "notes.loud" from docs where id = 2` });
  expect(rows).toEqual([[null]]);
  await tested.sql.query({ text: `update docs set "notes.(rows)" = false, "notes.twice" = null` });
  await tested.sql.query({ text: "update words set again = 'stale'" });
  await recompute("notes", []);
  await recompute("words", []);
  expect(await values()).toEqual(FIRST);
});

test("a recompute of the column that makes the rows makes all of them", async () => {
  await open();
  await tested.sql.query({ text: "delete from words where pos = 1" });
  await recompute("docs", ["words.(rows)"]);
  expect(await values()).toEqual(FIRST);
});

test("a view that loses a column keeps its others, and one that is dropped takes only its own", async () => {
  await open();
  const less = appWith()
    .replace(/ {4}(of = word|twice = |__indexes__).*\n/g, "")
    .replace(/, (W.of|Note.twice)/g, "");
  const plan = await tested.diff(less);
  const dropped = plan.tables.flatMap(({ path, ops }) =>
    ops.map(({ op, name, severity }) => `${path} ${op} ${name} ${severity}`),
  );
  expect(dropped.filter((text) => text.includes("drop")).sort()).toEqual([
    "main/notes drop by_twice destructive",
    "main/notes drop null destructive",
    "main/notes drop twice destructive",
    "main/words drop of destructive",
  ]);
  await tested.finish(await tested.update(less));
  expect((await tested.diff(less)).in_agreement).toBe(true);
  other = await tested.serve(less);
  const cut = FIRST.map((text) => text.replace(/^1 TO BE! .*/, "1 TO BE!").replace(/ \w+(note|other) /, " "));
  expect(await values(other)).toEqual(cut);
  const { status, text } = await other.post("/add", { id: 3, kind: "note", body: "that" });
  expect(status, text).toBe(200);
  expect((await values(other)).at(-1)).toBe("3 0 that THAT! THAT!THAT! NOTE!");
  const { rows } = await tested.sql.query({
    text: "select attname from pg_attribute where attrelid = 'docs'::regclass and attnum > 0 and not attisdropped order by 1",
  });
  expect(rows.flat().filter((name) => name?.includes("."))).toEqual(["notes.(rows)", "notes.loud", "words.(rows)"]);
});
