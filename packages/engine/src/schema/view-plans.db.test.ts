import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";

const appWith = (views: string, { due = true, output = "word" } = {}) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()

class Word(TypedDict):
    ${output}: str

@db.iterator
def words(text: str) -> Iterator[Word]:
    for word in text.split():
        yield {"${output}": word}

class Task(Base, name="tasks"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    ${due ? "due: db.Int | None" : "points: db.Int | None"}

class Other(Base, name="others"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
${views}
api = Router(name="api")
${due ? 'api.add_insert_route(Task, path="/add")' : ""}
`;

const OVERDUE = `
class Overdue(Base, name="overdue", base=Task.where(Task.due < 3)):
    shout = upper(Task.title)
`;
const SEEN = `
class Seen(Base, name="seen", base=Task.where(Task.due < 3)):
    pass
`;
const W = `
class W(Base, name="words", base=Task, iterator=words(Task.title)):
    loud = upper(word)
`;

let tested: TestApplication;

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

async function opsOf(source: string): Promise<readonly (readonly [string, string])[]> {
  const { tables } = await tested.diff(source);
  return tables.flatMap(({ path, ops }) => ops.map(({ description }) => [path, description] as const));
}

test("a dropped column names the condition of a view that reads it", async () => {
  tested = await openTestApplication(appWith(OVERDUE));
  await tested.post("/add", { id: 1, title: "a", due: 2 });
  expect(await opsOf(appWith("", { due: false }))).toContainEqual([
    "main/tasks",
    expect.stringContaining("column 'due' cannot be dropped: the condition of the view 'overdue' reads it."),
  ]);
});

test("a view without columns of its own also keeps the column that its condition reads", async () => {
  tested = await openTestApplication(appWith(SEEN));
  expect(await opsOf(appWith("", { due: false }))).toContainEqual([
    "main/tasks",
    expect.stringContaining("column 'due' cannot be dropped: the condition of the view 'seen' reads it."),
  ]);
});

test("a view that becomes a table is refused in one line, whose command works", async () => {
  tested = await openTestApplication(appWith(W + OVERDUE));
  const table = (name: string) => `class Now(Base, name="${name}"):\n    n: db.Int | None\n`;
  const other = "Give the model another name=. Or leave it out of the file, run cli schema prune app.py main";
  for (const [views, name] of [
    [table("words") + OVERDUE, "words"],
    [W + table("overdue"), "overdue"],
    [OVERDUE.replace('"overdue"', '"words"'), "words"],
    [W.replace('"words"', '"overdue"'), "overdue"],
    [W + OVERDUE.replaceAll("Task", "Other").replace("Other.due", "Other.id"), "overdue"],
  ] as const) {
    const plan = await tested.diff(appWith(views));
    const refused = plan.tables.filter(({ resolution }) => resolution === "unsupported");
    expect(refused.map(({ path, ops }) => [path, ops.map(({ description }) => description)])).toEqual([
      [`main/${name}`, [expect.stringContaining(other)]],
    ]);
    expect(plan.extras).not.toContain(`main/${name}`);
  }
  expect(await tested.prune(appWith(""))).toEqual(["main/overdue", "main/words"]);
  await tested.update(appWith(table("words") + W.replace('"words"', '"overdue"')));
});

test("a renamed output of an iterator has no advice that its class cannot follow", async () => {
  tested = await openTestApplication(appWith(W));
  await tested.post("/add", { id: 1, title: "a", due: 2 });
  const renamed = appWith(W.replace("upper(word)", "upper(token)"), { output: "token" });
  expect(await opsOf(renamed)).toContainEqual(["main/words", "column 'word' will be dropped with all its values"]);
});

test("an iterator view is a view in the texts of a rename and of a prune", async () => {
  tested = await openTestApplication(appWith(W));
  const renamed = W.replace('name="words"', 'name="parts", renamed_from="words"');
  expect(await opsOf(appWith(renamed))).toContainEqual([
    "main/parts",
    "the view will be renamed from 'words'; its rows, indexes and errors stay",
  ]);
});

test("a view over a view with another condition names its base", async () => {
  const over = `
class Soon(Base, name="soon", base=Overdue.where(Overdue.title != "x")):
    pass
`;
  tested = await openTestApplication(appWith(OVERDUE + over));
  await tested.post("/add", { id: 1, title: "a", due: 2 });
  expect(await opsOf(appWith(OVERDUE.replace("< 3", "< 4") + over))).toContainEqual([
    "main/soon",
    "the rows of its base 'overdue' will be others, and so will those of the view",
  ]);
});

test("views over a changed view have a line that says why their rows or values are others", async () => {
  const views = (views: { least?: string; loud?: string; cut?: string } = {}) => {
    const { least = "Task.id > 0", loud = "upper(Task.title)", cut = "Task.title" } = views;
    return `
class Loud(Base, name="loud", base=Task.where(${least})):
    shout = ${loud}
class Said(Base, name="said", base=Loud.where(Loud.shout != "X")):
    pass
class Again(Base, name="again", base=Loud):
    more = upper(Loud.shout)
class W(Base, name="words", base=Task, iterator=words(${cut})):
    loud = upper(word)
class Late(Base, name="late", base=W.where(W.pos > 0)):
    pass
class Twice(Base, name="twice", base=W, iterator=words(W.loud)):
    pass
`;
  };
  tested = await openTestApplication(appWith(views()));
  await tested.post("/add", { id: 1, title: "a b", due: 2 });
  const loud = await opsOf(appWith(views({ loud: "upper(Task.title) + Task.title" })));
  expect([...loud].sort()).toEqual([
    ["main/again", "column 'more' will be recomputed, because column 'shout' of 'loud' changes"],
    ["main/loud", "column 'shout': its expression will change and every row will be recomputed"],
    ["main/said", "its rows will be others, because column 'shout' of 'loud' changes"],
  ]);
  const cut = await opsOf(appWith(views({ cut: "upper(Task.title)" })));
  expect([...cut].sort()).toEqual([
    ["main/late", "its rows will be made again with those of 'words'"],
    ["main/twice", "its rows will be made again with those of 'words'"],
    [
      "main/words",
      "its rows will be computed again, for every row of its base, because its iterator or a parameter of it changes; until then it has the previous ones",
    ],
  ]);
  expect(await opsOf(appWith(views({ least: "Task.id % 2 == 1" })))).toContainEqual([
    "main/loud",
    "the view will have the rows with id % 2 == 1 instead of id > 0",
  ]);
  await tested.finish(await tested.update(appWith(views({ least: "Task.id % 2 == 1" }))));
  expect(await opsOf(appWith(views({ least: "Task.id % 3 == 1" })))).toContainEqual([
    "main/loud",
    "its rows will be computed again, for every row of its base, because its condition is id % 3 == 1 instead of id % 2 == 1; until then it has the previous ones",
  ]);
});

test("a column of the base that a view shows no more computes nothing", async () => {
  const shown = (more: string, own = "") => `
class W(Base, name="words", base=Task.select(Task.id, Task.title, name=Task.title${more}), iterator=words(Task.title)):
    loud = upper(word)${own}
class Late(Base, name="late", base=W.where(W.pos >= 0)):
    both = W.loud + W.name
`;
  tested = await openTestApplication(appWith(shown(", other=Task.id", "\n    of = upper(Task.title)")));
  await tested.post("/add", { id: 1, title: "a b", due: 2 });
  const less = appWith(shown(""));
  expect(await opsOf(less)).toEqual([
    ["main/words", "column 'other' will be dropped with all its values"],
    ["main/words", "column 'of' will be dropped with all its values"],
  ]);
  expect(await tested.update(less)).toEqual([]);
  expect((await tested.diff(less)).in_agreement).toBe(true);
  await using next = await tested.serve(less);
  expect((await next.post("/add", { id: 2, title: "c", due: 2 })).status).toBe(200);
  expect((await tested.post("/add", { id: 3, title: "d", due: 2 })).status).toBe(200);
  const { rows } = await tested.sql.query({ text: 'select loud, name, "late.both" from words order by loud' });
  expect(rows).toEqual([
    ["A", "a b", "Aa b"],
    ["B", "a b", "Ba b"],
    ["C", "c", "Cc"],
    ["D", "d", "Dd"],
  ]);
  expect(await opsOf(appWith(shown("", "\n    of = upper(Task.title)")))).toContainEqual([
    "main/words",
    "its rows will be computed again, for every row of its base, because column 'of' reads its base; until then it has the previous ones",
  ]);
});
