import type { Query } from "@appdb/contract/query";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readResult } from "./testing/read-result.ts";

const APP = `
import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Docs(Base, name="docs"):
    title = db.Column(db.String, primary_key=True)
    price: db.Int


class Cheap(Base, name="cheap", base=Docs.where(Docs.price < 10)):
    label = Docs.title + "!"


class Owners(Base, name="owners"):
    title = db.Column(db.String, primary_key=True)
    owner: db.String


r = Router(name="q")
r.add_insert_route(Docs, path="/docs")
r.add_insert_route(Owners, path="/owners")


@db.query
def labels(): return Cheap.order_by(Cheap.title).select(Cheap.title, Cheap.label)
@db.query
def owned(): return Cheap.join(Owners, on=Cheap.title == Owners.title, how="full").order_by(Cheap.title).select(Cheap.label, Owners.owner)


r.add_query_route(path="/labels", query=labels, method="get")
r.add_query_route(path="/owned", query=owned, method="get")
`;

let app: TestApplication;
const udf = () => {
  throw new Error("No query of this file needs Python.");
};

beforeAll(async () => {
  app = await openTestApplication(APP);
  await app.post("/docs", [
    { title: "a", price: 5 },
    { title: "b", price: 50 },
    { title: "c", price: 7 },
  ]);
  await app.post("/owners", [
    { title: "b", owner: "Bo" },
    { title: "c", owner: "Cy" },
  ]);
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
});

function queryNamed(name: string): Query {
  const found = app.manifest.queries.find((query) => query.name === name);
  if (found === undefined) throw new Error(`The file declares no query ${name}.`);
  return found.query;
}

test("queries of a request over views have the rows of the same named queries", async () => {
  for (const name of ["labels", "owned"]) {
    const { json } = await app.get(`/${name}`);
    const { columns, rows } = await readResult({ sql: app.sql, udf }, queryNamed(name));
    const shown = json.rows.map((row: Record<string, unknown>) => columns.map((column) => row[column.name]));
    expect(rows, name).toEqual(shown);
  }
  expect((await readResult({ sql: app.sql, udf }, queryNamed("labels"))).rows).toEqual([
    ["a", "a!"],
    ["c", "c!"],
  ]);
});

test("a hidden column of a view's table is not found in the table", async () => {
  const query = queryNamed("labels");
  const from = { table: "docs", as: "cheap" };
  await expect(readResult({ sql: app.sql, udf }, { ...query, from })).rejects.toMatchObject({
    code: "column_not_found",
    meta: { table: "docs", column: "label" },
  });
});
