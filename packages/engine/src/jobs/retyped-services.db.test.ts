import { openTestApplication } from "@appdb/testkit/test-application";
import { expect, test } from "vitest";

const app = (x: string, y: string) => `
import appdb as db
from appdb.serving import Router

Base = db.model_base()

@db.udf
def text(n: int) -> str:
    return f"text {n}"

@db.udf
def number(n: int) -> int:
    return n + 1000

@db.udf
def tail(x: str) -> str:
    return x[-2:]

@db.udf
def half(x: int) -> str:
    return str(x // 2)

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    n: db.Int
    x = ${x}
    y = ${y}

api = Router(name="api")
api.add_insert_route(Doc, path="/add")
api.add_update_route(Doc, path="/change")
`;

test("a service of the next file writes previous values while a column gets another type", async () => {
  const after = app("number(n)", "half(x)");
  await using tested = await openTestApplication(app("text(n)", "tail(x)"));
  await tested.post("/add", { id: 1, n: 10 });
  const stored = async () => {
    return (await tested.sql.query({ text: "select id, x, y, _errors is null from docs order by id" })).rows;
  };
  const jobs = await tested.update(after);
  await using service = await tested.serve(after);
  expect((await service.post("/add", { id: 2, n: 20 })).json).toEqual({ id: 2, n: 20, x: "text 20", y: "20" });
  expect((await service.post("/change", { id: 1, n: 30 })).json).toMatchObject({ x: "text 30", y: "30" });
  const lines = '{"id": 3, "n": 40}\n';
  expect((await service.post("/add", lines, { headers: { "content-type": "application/x-ndjson" } })).status).toBe(200);
  expect((await stored()).map(([id, x, y]) => [id, x, y])).toEqual([
    ["1", "text 30", "30"],
    ["2", "text 20", "20"],
    ["3", "text 40", "40"],
  ]);
  await tested.finish(jobs);
  expect(await stored()).toEqual([
    ["1", "1030", "515", "t"],
    ["2", "1020", "510", "t"],
    ["3", "1040", "520", "t"],
  ]);
});
