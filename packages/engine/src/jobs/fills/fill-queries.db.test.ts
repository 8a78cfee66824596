import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startRecompute } from "../plan-recompute.ts";

/** Columns that use queries, computed for existing rows with real PostgreSQL and real workers. */
const APP = `
import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Kinds(Base, name="kinds"):
    name = db.Column(db.String, primary_key=True)
    rank: db.Int
    note: db.String | None


@db.udf
def loud(text: str) -> str:
    return text.upper() + "!"


@db.uda
class longest(db.Aggregator):
    def __init__(self):
        self.found = ""

    def update(self, text: str):
        self.found = max(self.found, text, key=len)

    def value(self) -> str:
        return self.found


@db.query
def ranks(low: int):
    return Kinds.where(Kinds.rank >= low).select(longest=longest(Kinds.name), count=fn.count())


@db.query
def of_kind(kind: str, least: int = 0):
    """Its kind."""
    return Kinds.where((Kinds.name == kind) & (Kinds.rank >= least)).select(Kinds.rank, name=loud(Kinds.name))


class Items(Base, name="items"):
    sku = db.Column(db.String, primary_key=True)
    kind: db.String
    # more columns


r = Router(name="q")
r.add_insert_route(Items, path="/items", inputs=["sku", "kind"])
r.add_insert_route(Kinds, path="/kinds")
r.add_query_route(path="/of_kind", query=of_kind)
`;
const FOUND = "found = of_kind(kind)";
const ASKING = APP.replace("# more columns", FOUND);

let tested: TestApplication;

beforeEach(async () => {
  tested = await openTestApplication(APP);
  for (const [name, rank] of [
    ["tool", 3],
    ["toy", 1],
  ]) {
    await tested.post("/kinds", { name, rank });
  }
  await tested.sql.query({
    text: `insert into items (_row, sku, kind)
      select uuidv7(), 'i' || i, (array['tool', 'toy', 'none'])[1 + i % 3] from generate_series(1, 600) i`,
  });
});

afterEach(async () => {
  await tested[Symbol.asyncDispose]();
});

async function found(): Promise<unknown[][]> {
  const { rows } = await tested.sql.query({
    text: "select kind, found::text, count(*) from items group by 1, 2 order by 1",
  });
  return rows.map(([kind, value, count]) => [kind, JSON.parse(value ?? "null"), Number(count)]);
}

async function recompute(column: string): Promise<void> {
  const { job } = await startRecompute(tested.sql, {
    folder: "public",
    table: "items",
    columns: [column],
    cascade: false,
    on_error: "abort",
    errors_only: false,
  });
  await tested.finish([job ?? ""]);
}

test("a query column has equal values for existing, inserted and recomputed rows", async () => {
  await tested.finish(await tested.update(ASKING));
  const tool = [{ rank: 3, name: "TOOL!" }];
  const toy = [{ rank: 1, name: "TOY!" }];
  expect(await found()).toEqual([
    ["none", [], 200],
    ["tool", tool, 200],
    ["toy", toy, 200],
  ]);
  expect((await tested.diff(ASKING)).in_agreement).toBe(true);
  await using serving = await tested.serve(ASKING);
  expect((await serving.post("/items", { sku: "new", kind: "tool" })).json).toMatchObject({ found: tool });
  await tested.sql.query({ text: "update items set found = null where kind = 'toy'" });
  await recompute("found");
  expect(await found()).toEqual([
    ["none", [], 200],
    ["tool", tool, 201],
    ["toy", toy, 200],
  ]);
});

test("a column can use a query with custom aggregates for many rows", async () => {
  const folding = APP.replace("# more columns", "found = ranks(kind.len() - 3)");
  await tested.finish(await tested.update(folding));
  expect(await found()).toEqual([
    ["none", [{ longest: "tool", count: 2 }], 200],
    ["tool", [{ longest: "tool", count: 2 }], 200],
    ["toy", [{ longest: "tool", count: 2 }], 200],
  ]);
});

test("a changed query definition recomputes the columns that use it", async () => {
  await tested.finish(await tested.update(ASKING));
  const moved = ASKING.replace('"""Its kind."""', '"""Told otherwise, further down."""\n').replace(
    "Base =",
    "\nBase =",
  );
  expect((await tested.diff(moved)).in_agreement).toBe(true);
  const changed = ASKING.replace("Kinds.rank >= least", "Kinds.rank > least + 1");
  const [table] = (await tested.diff(changed)).tables.filter(({ ops }) => ops.length > 0);
  expect(table?.ops.map(({ description }) => description)).toEqual([
    "column 'found': the query of_kind that it uses will change and every row will be recomputed",
  ]);
  await tested.finish(await tested.update(changed));
  expect((await found()).map(([kind, value]) => [kind, (value as unknown[]).length])).toEqual([
    ["none", 0],
    ["tool", 1],
    ["toy", 0],
  ]);
  expect((await tested.diff(changed)).in_agreement).toBe(true);
});

test("changed code of a function in a query marks the columns that use it", async () => {
  await tested.finish(await tested.update(ASKING));
  expect((await tested.diff(ASKING)).stale).toEqual([]);
  const plan = await tested.diff(ASKING.replace('text.upper() + "!"', 'text.upper() + "?"'));
  expect(plan.stale).toMatchObject([{ table: "main/items", column: "found", functions: ["app:loud"] }]);
});

test("an older service leaves cells pending, and a job fills them with the new definition", async () => {
  await tested.finish(await tested.update(ASKING));
  await using former = await tested.serve(ASKING);
  const changed = ASKING.replace("Kinds.rank >= least", "Kinds.rank > 5");
  await tested.finish(await tested.update(changed));
  await former.post("/items", { sku: "late", kind: "tool" });
  const open = await tested.sql.query({ text: "select id from appdb.jobs where state = 'queued'" });
  await tested.finish(open.rows.map(([id]) => id ?? ""));
  const { rows } = await tested.sql.query({ text: "select found::text, _errors from items where sku = 'late'" });
  expect(rows).toEqual([["[]", null]]);
});

test("a failing query names the row, and the column is not added", async () => {
  const strict = ASKING.replace("Kinds.rank >= least", "Kinds.rank / (Kinds.rank - 3) >= least");
  await expect(tested.update(strict).then((jobs) => tested.finish(jobs))).rejects.toMatchObject({
    code: "fill_failed",
    meta: { column: "found", type: "QueryFailed", message: expect.stringContaining("of_kind") },
  });
});

test("a column that a query reads is filled first, in one update", async () => {
  const louder = '@db.udf\ndef louder(text: str) -> str:\n    return text.upper() + "!"\n\n\nclass Kinds';
  const both = ASKING.replace("class Kinds", louder)
    .replace("note: db.String | None", "note: db.String | None\n    loud_name = louder(name)")
    .replace("name=loud(Kinds.name)", "name=Kinds.loud_name");
  await tested.finish(await tested.update(both));
  expect((await found())[1]).toEqual(["tool", [{ rank: 3, name: "TOOL!" }], 200]);
});

test("a query on an unfilled column is refused, not answered with nulls", async () => {
  await tested.finish(await tested.update(ASKING));
  await tested.sql.query({ text: "update appdb.columns set state = 'filling' where name = 'rank'" });
  await expect(recompute("found")).rejects.toMatchObject({
    code: "recompute_failed",
    meta: { message: "The query app:of_kind reads kinds.rank, which is being filled itself." },
  });
});
