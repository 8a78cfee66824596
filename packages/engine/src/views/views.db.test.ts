import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { Random } from "../expressions/testing/random.ts";
import { findTable, listRows } from "../queries/list-rows.ts";
import { readableTables } from "./view-tables.ts";

interface Conditions {
  readonly cheap: string;
  readonly loud: string;
  readonly more?: string;
}

const FIRST: Conditions = { cheap: "Bread.cents < 200", loud: 'Cheap.shout.contains("RYE")' };

/** A table, a view of it, and a view of that view whose condition reads a function of the application. */
const appWith = ({ cheap, loud, more = "" }: Conditions) => `
import appdb as db
from appdb.functions import format
from appdb.serving import Router

Base = db.model_base()

@db.udf
def shouted(text: str) -> str:
    if "?" in text:
        raise ValueError(f"{text} is a question")
    return text.upper() + "!"

@db.udf(batch_size=4)
def doubled(numbers: db.Batch[int]) -> db.Batch[int]:
    assert all(n < 100_000 for n in numbers), "too many"
    return [2 * n for n in numbers]

class Bread(Base, name="bread"):
    id = db.Column(type=db.Int, primary_key=True)
    name: db.String
    cents: db.Int | None
    euros = cents / 100

class Cheap(Base, name="cheap", base=Bread.where(${cheap})):
    label = format("{0}: {1}", Bread.name, Bread.cents)
    shout = shouted(label)
    twice = doubled(Bread.cents)

class Loud(Base, name="loud", base=Cheap.where(${loud})):
    price = Bread.euros * 2
    __indexes__ = [db.BtreeIndex(price)]

class Names(Base, name="names", base=Bread.select(Bread.id, again=Bread.name)):
    pass
${more}
@db.query
def bread():
    return Bread.select(Bread.id, Bread.name, Bread.cents)

@db.query
def cheap(most: db.Int = 1_000_000):
    return Cheap.where(Cheap.cents <= most).select(Cheap.id, Cheap.name, Cheap.label, Cheap.shout, Cheap.twice, why=Cheap.shout.errortype)

@db.query
def loud():
    return Loud.select(Loud.id, Loud.label, Loud.price)

@db.query
def dear():
    return Bread.join(Cheap, on=Bread.id == Cheap.id, how="left").where(Cheap.id == None).select(Bread.id)

@db.query
def names():
    return Names.select(Names.id, Names.again)

api = Router(name="api")
api.add_insert_route(Bread, path="/add", on_error="ignore")
api.add_insert_route(Bread, path="/add/strictly")
api.add_update_route(Bread, path="/change", on_error="ignore")
api.add_delete_route(Bread, path="/drop")
api.add_compute_route(Loud, path="/compute", outputs=[Loud.name, Loud.label, Loud.price])
for each in (bread, cheap, loud, dear, names):
    api.add_query_route(path=f"/{each.__name__}", query=each)
`;

let tested: TestApplication;
let other: ServedRoutes | undefined;

afterEach(async () => {
  await other?.[Symbol.asyncDispose]();
  other = undefined;
  await tested?.[Symbol.asyncDispose]();
});

async function rowsOf(path: string, served: ServedRoutes = tested): Promise<Record<string, unknown>[]> {
  const { status, json } = await served.post(path, {});
  expect(status, JSON.stringify(json)).toBe(200);
  return json.rows;
}

/** Runs the jobs of an update. Meanwhile a service of the previous file gives all previous rows, or all new ones. */
async function finishAtOnce(served: ServedRoutes, jobs: readonly string[]): Promise<void> {
  const answers = async () => {
    const found = [];
    for (const path of ["/cheap", "/loud"]) {
      const { status, text } = await served.post(path, {});
      // A stored condition that queries have from then on goes with the previous rows.
      if (status !== 200) expect(text).toContain("schema_changed");
      found.push(`${path} ${status === 200 ? text : status}`);
    }
    return found;
  };
  const before = await answers();
  const seen = new Set<string>();
  let isRunning = true;
  const ended = tested.finish(jobs).finally(() => {
    isRunning = false;
  });
  while (isRunning) for (const one of await answers()) seen.add(one);
  await ended;
  const known = [...before, ...(await answers())];
  for (const one of seen) expect(known).toContain(one);
}

test("rows enter, change in and leave views with every write", async () => {
  tested = await openTestApplication(appWith(FIRST));
  await tested.post("/add", { id: 1, name: "rye", cents: 150 });
  await tested.post("/add", { id: 2, name: "wheat", cents: 250 });
  await tested.post("/add", { id: 3, name: "roll", cents: null });
  const rye = { id: 1, name: "rye", label: "rye: 150", shout: "RYE: 150!", twice: 300, why: null };
  expect(await rowsOf("/cheap")).toEqual([rye]);
  expect(await rowsOf("/loud")).toEqual([{ id: 1, label: "rye: 150", price: 3 }]);
  expect(await rowsOf("/dear")).toEqual([{ id: 2 }, { id: 3 }]);
  expect(await rowsOf("/names")).toEqual([
    { id: 1, again: "rye" },
    { id: 2, again: "wheat" },
    { id: 3, again: "roll" },
  ]);
  await tested.post("/change", { id: 2, cents: 199 });
  await tested.post("/change", { id: 1, name: "oats" });
  expect((await rowsOf("/cheap")).map(({ shout }) => shout)).toEqual(["OATS: 150!", "WHEAT: 199!"]);
  expect(await rowsOf("/loud")).toEqual([]);
  await tested.post("/change", { id: 1, cents: 200 });
  await tested.post("/drop", { id: 2 });
  expect(await rowsOf("/cheap")).toEqual([]);
});

test("functions of a view's columns run for its rows only", async () => {
  tested = await openTestApplication(appWith(FIRST));
  // Each would fail: a question, and a number that the batched function does not take.
  const { status } = await tested.post("/add/strictly", { id: 1, name: "rye?", cents: 100_000 });
  expect(status).toBe(200);
  const refused = await tested.post("/add/strictly", { id: 2, name: "rye?", cents: 1 });
  expect(refused.json).toMatchObject({ code: "function_failed", detail: expect.stringContaining("cheap.shout") });
  await tested.post("/add", { id: 2, name: "rye?", cents: 1 });
  expect(await rowsOf("/cheap")).toMatchObject([{ id: 2, label: "rye?: 1", shout: null, why: "ValueError" }]);
});

test("people read a view like a table: its rows, columns and cell errors", async () => {
  tested = await openTestApplication(appWith(FIRST));
  await tested.post("/add", { id: 1, name: "rye", cents: 150 });
  await tested.post("/add", { id: 2, name: "rye?", cents: 90 });
  await tested.post("/add", { id: 3, name: "wheat", cents: 900 });
  const tables = readableTables(await loadCatalog(tested.sql));
  const rowsIn = async (name: string) => {
    const table = findTable(tables, { folder: "public", name, text: `main/${name}` });
    return (await listRows(tested.sql, table, { limit: 10, cursor: null })).rows.map((row) => JSON.parse(row));
  };
  const common = { euros: 1.5, label: "rye: 150", shout: "RYE: 150!", twice: 300 };
  expect(await rowsIn("cheap")).toEqual([
    {
      id: 2,
      name: "rye?",
      cents: 90,
      euros: 0.9,
      label: "rye?: 90",
      shout: null,
      twice: 180,
      _errors: { shout: expect.objectContaining({ type: "ValueError" }) },
    },
    { id: 1, name: "rye", cents: 150, ...common },
  ]);
  expect(await rowsIn("loud")).toEqual([{ id: 1, name: "rye", cents: 150, ...common, price: 3 }]);
  expect(await rowsIn("names")).toHaveLength(3);
});

test("a compute route over a view answers null for a row that is not in it", async () => {
  tested = await openTestApplication(appWith(FIRST));
  const inside = await tested.post("/compute", { id: 1, name: "rye", cents: 100 });
  expect(inside.json).toEqual({ name: "rye", label: "rye: 100", price: 2 });
  expect((await tested.post("/compute", { id: 1, name: "rye", cents: 300 })).json).toBeNull();
  expect((await tested.post("/compute", { id: 1, name: "oats", cents: 100 })).json).toBeNull();
  expect(await rowsOf("/bread")).toEqual([]);
});

test("a compute route over a view with selected values takes the columns that they read", async () => {
  tested = await openTestApplication(
    appWith({
      ...FIRST,
      more: `
class Prices(Base, name="prices", base=Bread.select(Bread.id, price=Bread.cents * 2).where(Bread.name != "oats")):
    text = format("{0}", price)
`,
    }).replace("for each in", 'api.add_compute_route(Prices, path="/prices")\nfor each in'),
  );
  const rye = await tested.post("/prices", { id: 1, name: "rye", cents: 100 });
  expect(rye.json).toEqual({ id: 1, price: 200, text: "200" });
  expect((await tested.post("/prices", { id: 1, name: "oats", cents: 100 })).json).toBeNull();
  expect((await tested.post("/prices", { id: 1, cents: 100 })).json).toMatchObject({ code: "invalid_request" });
});

test("a view over a table with rows is filled, and a changed condition fills it again", async () => {
  tested = await openTestApplication(appWith(FIRST));
  for (let id = 1; id <= 6; id++) await tested.post("/add", { id, name: id % 2 ? "rye" : "wheat", cents: id * 50 });
  const changed = appWith({
    cheap: "(Bread.cents > 120) & (Bread.name != None)",
    loud: 'Cheap.shout.contains("WHEAT")',
  });
  const plan = await tested.diff(changed);
  expect(plan.tables.find(({ path }) => path === "main/cheap")).toMatchObject({
    kind: "view",
    resolution: "update_additive",
    ops: [
      { description: "the view will have the rows with (cents > 120) & (name != None) instead of cents < 200" },
      { name: "label" },
      { name: "shout" },
      { name: "twice" },
    ],
  });
  await tested.finish(await tested.update(changed));
  other = await tested.serve(changed);
  expect((await rowsOf("/cheap", other)).map(({ label }) => label)).toEqual([
    "rye: 150",
    "wheat: 200",
    "rye: 250",
    "wheat: 300",
  ]);
  expect(await rowsOf("/loud", other)).toEqual([
    { id: 4, label: "wheat: 200", price: 4 },
    { id: 6, label: "wheat: 300", price: 6 },
  ]);
  expect((await tested.diff(changed)).in_agreement).toBe(true);
});

test("a view that the file no longer declares stays until it is pruned, and keeps the columns that it reads", async () => {
  tested = await openTestApplication(appWith(FIRST));
  await tested.post("/add", { id: 1, name: "rye", cents: 150 });
  const without = `
import appdb as db
Base = db.model_base()
class Bread(Base, name="bread"):
    id = db.Column(type=db.Int, primary_key=True)
    name: db.String
    euros: db.Float | None
`;
  const plan = await tested.diff(without);
  expect(plan.extras).toEqual(["main/cheap", "main/loud", "main/names"]);
  const [table] = plan.tables;
  expect(table?.ops.find(({ name }) => name === "cents")).toMatchObject({
    severity: "unsupported",
    description: expect.stringContaining("column 'label' of the view 'cheap'"),
  });
  await expect(tested.update(without)).rejects.toMatchObject({ code: "schema_unsupported" });
});

test.each([1, 2, 3, 4])(
  "after random writes and updates, views equal ones computed from nothing (seed %i)",
  async (seed) => {
    const random = new Random(seed);
    const cheap = [
      { text: "Bread.cents < 200", has: (cents: number | null) => cents !== null && cents < 200 },
      { text: "Bread.cents >= 90", has: (cents: number | null) => cents !== null && cents >= 90 },
      {
        text: "(Bread.cents == None) | (Bread.cents < 120)",
        has: (cents: number | null) => cents === null || cents < 120,
      },
      { text: "Bread.cents % 2 == 0", has: (cents: number | null) => cents !== null && cents % 2 === 0 },
    ] as const;
    const loud = ["RYE", "WHEAT", "1", ":"] as const;
    let now = { cheap: random.pick(cheap), loud: random.pick(loud) };
    const source = () => appWith({ cheap: now.cheap.text, loud: `Cheap.shout.contains("${now.loud}")` });
    tested = await openTestApplication(source());
    let served: ServedRoutes = tested;
    const rows = new Map<number, { name: string; cents: number | null }>();
    const write = async (): Promise<void> => {
      const id = random.int(1, 12);
      const row = {
        name: random.pick(["rye", "wheat", "oats"]),
        cents: random.pick([null, 50, 90, 119, 120, 199, 200, 333]),
      };
      const kind = random.pick(["add", "add", "change", "change", "drop"] as const);
      if (kind === "drop") {
        await served.post("/drop", { id });
        rows.delete(id);
      } else if (kind === "add" && !rows.has(id)) {
        expect((await served.post("/add", { id, ...row })).status).toBe(200);
        rows.set(id, row);
      } else if (kind === "change" && rows.has(id)) {
        expect((await served.post("/change", { id, ...row })).status).toBe(200);
        rows.set(id, row);
      }
    };
    for (let step = 0; step < 40; step++) {
      if (step % 10 === 9) {
        now = { cheap: random.pick(cheap), loud: random.pick(loud) };
        await finishAtOnce(served, await tested.update(source()));
        await other?.[Symbol.asyncDispose]();
        other = await tested.serve(source());
        served = other;
      } else await write();
      const expected = [...rows]
        .sort(([a], [b]) => a - b)
        .flatMap(([id, { name, cents }]) => {
          if (!now.cheap.has(cents)) return [];
          const label = `${name}: ${cents ?? "None"}`;
          return [{ id, label, shout: `${label.toUpperCase()}!` }];
        });
      const found = (await rowsOf("/cheap", served)).sort((a, b) => Number(a.id) - Number(b.id));
      const members = expected.filter(({ id }) => rows.get(id)?.cents !== null);
      expect(found.map(({ id, label, shout }) => ({ id, label, shout }))).toEqual(
        members.map(({ id, label, shout }) => ({ id, label, shout })),
      );
      const louder = (await rowsOf("/loud", served)).map(({ id }) => id).sort((a, b) => Number(a) - Number(b));
      expect(louder).toEqual(expected.flatMap(({ id, shout }) => (shout.includes(now.loud) ? [id] : [])));
    }
  },
);
