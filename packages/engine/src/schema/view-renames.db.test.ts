import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, expect, test } from "vitest";

interface View {
  readonly name: string;
  readonly was?: string;
  readonly columns: readonly string[];
  readonly where?: string;
}

const appWith = (...views: readonly View[]) => `
import appdb as db
from appdb.functions import lower, upper
from appdb.serving import Router

Base = db.model_base()

class A(Base, name="a"):
    id = db.Column(type=db.Int, primary_key=True)
    s: db.String

${views
  .map(
    ({ name, was, columns, where = "A.id > 1" }, at) => `
class V${at}(Base, name="${name}", base=A.where(${where})${was === undefined ? "" : `, renamed_from="${was}"`}):
${columns.map((line) => `    ${line}`).join("\n")}

@db.query
def all${at}():
    return V${at}.order_by(V${at}.id)
`,
  )
  .join("")}
api = Router(name="api")
api.add_insert_route(A, path="/add")
${views.map((_view, at) => `api.add_query_route(path="/${at}", query=all${at}, method="get")`).join("\n")}
`;

let tested: TestApplication;
let other: ServedRoutes | undefined;

afterEach(async () => {
  await other?.[Symbol.asyncDispose]();
  other = undefined;
  await tested?.[Symbol.asyncDispose]();
});

async function open(...views: readonly View[]): Promise<void> {
  tested = await openTestApplication(appWith(...views));
  const { status, text } = await tested.post("/add", [
    { id: 1, s: "One" },
    { id: 2, s: "Two" },
  ]);
  expect(status, text).toBe(200);
}

/** Applies a file. Returns the lines of its plan. Each destructive operation has one. */
async function update(...views: readonly View[]): Promise<string[]> {
  const { tables, summary } = await tested.diff(appWith(...views));
  const ops = tables.flatMap(({ path, ops: own }) => own.map((op) => ({ path, ...op })));
  const jobs = await tested.update(appWith(...views));
  expect(summary.destructive).toBe(ops.filter(({ destructive }) => destructive).length);
  await tested.finish(jobs);
  expect((await tested.diff(appWith(...views))).in_agreement).toBe(true);
  return ops.map(({ path, description, destructive }) => `${path}: ${description}${destructive ? "!" : ""}`);
}

async function rowsOf(...views: readonly View[]): Promise<unknown> {
  other = await tested.serve(appWith(...views));
  const found = [];
  for (const at of views.keys()) found.push((await other.get(`/${at}`)).json.rows);
  return found;
}

const RENAMED = (from: string) => `the view will be renamed from '${from}'; its values, indexes and errors stay`;
const W = "w = upper(A.s)";
const Z = 'z = db.Column(value=upper(A.s), renamed_from="w")';

test("a rename of a view leaves out the rename of its column that is done", async () => {
  await open({ name: "v", columns: [W] });
  expect(await update({ name: "v", columns: [Z] })).toEqual([
    expect.stringContaining("main/v: column 'z' will be renamed from 'w'"),
  ]);
  expect(await update({ name: "v2", was: "v", columns: [Z] })).toEqual([`main/v2: ${RENAMED("v")}`]);
  expect(await update({ name: "v3", was: "v2", columns: [Z] })).toEqual([`main/v3: ${RENAMED("v2")}`]);
  expect(await rowsOf({ name: "v3", was: "v2", columns: [Z] })).toEqual([[{ id: 2, s: "Two", z: "TWO" }]]);
});

test("a rename of a column leaves out the rename of its view that is done", async () => {
  await open({ name: "v", columns: [W, "low = lower(w)"] });
  await update({ name: "v2", was: "v", columns: [W, "low = lower(w)"] });
  const next = { name: "v2", was: "v", columns: [Z, "low = lower(z)"] };
  expect(await update(next)).toEqual([expect.stringContaining("main/v2: column 'z' will be renamed from 'w'")]);
  expect(await rowsOf(next)).toEqual([[{ id: 2, s: "Two", z: "TWO", low: "two" }]]);
});

test("a rename of a view and one of its column are done together, and a chain of columns", async () => {
  await open({ name: "v", columns: [W, "x = lower(A.s)"] });
  const next = { name: "v2", was: "v", columns: [Z, 'w = db.Column(value=lower(A.s), renamed_from="x")'] };
  expect((await update(next)).sort()).toEqual([
    expect.stringContaining("main/v2: column 'w' will be renamed from 'x'"),
    expect.stringContaining("main/v2: column 'z' will be renamed from 'w'"),
    `main/v2: ${RENAMED("v")}`,
  ]);
  expect(await rowsOf(next)).toEqual([[{ id: 2, s: "Two", z: "TWO", w: "two" }]]);
  expect(await update({ ...next, name: "v3", was: "v2" })).toEqual([`main/v3: ${RENAMED("v2")}`]);
});

test("a column that a renamed view loses shows as dropped in that view", async () => {
  await open({ name: "v", columns: [W, "gone = lower(A.s)"] });
  expect((await update({ name: "v2", was: "v", columns: [Z] })).sort()).toEqual([
    "main/v2: column 'gone' will be dropped with all its values!",
    expect.stringContaining("main/v2: column 'z' will be renamed from 'w'"),
    `main/v2: ${RENAMED("v")}`,
  ]);
});

test("a column that a view loses while it swaps its name with another shows in that view", async () => {
  await open({ name: "a1", columns: [W, "gone = lower(A.s)"] }, { name: "b1", columns: ["other = lower(A.s)"] });
  const next = [
    { name: "b1", was: "a1", columns: [W] },
    { name: "a1", was: "b1", columns: ["other = lower(A.s)"] },
  ];
  expect((await update(...next)).sort()).toEqual([
    `main/a1: ${RENAMED("b1")}`,
    "main/b1: column 'gone' will be dropped with all its values!",
    `main/b1: ${RENAMED("a1")}`,
  ]);
  expect(await rowsOf(...next)).toEqual([[{ id: 2, s: "Two", w: "TWO" }], [{ id: 2, s: "Two", other: "two" }]]);
});

test("a condition that becomes a comparison destroys nothing", async () => {
  await open({ name: "v", where: "A.id % 2 == 0", columns: [W] });
  const lines = await update({ name: "v", columns: [W] });
  expect(lines.filter((line) => line.endsWith("!"))).toEqual([]);
  expect(await rowsOf({ name: "v", columns: [W] })).toEqual([[{ id: 2, s: "Two", w: "TWO" }]]);
});
