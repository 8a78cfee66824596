import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

/** Tables with each kind of key. Columns are computed by SQL, by Python, and by both in a chain. */
const APP = `
import appdb as db
from appdb.functions import lower, upper, uuid7
from appdb.serving import Router

Base = db.model_base()

@db.udf
def half(n: int) -> float:
    if n == 26:
        raise ValueError("unlucky")
    return n / 2

class Items(Base, name="items"):
    sku = db.Column(type=db.String, primary_key=True)
    n: db.Int
    price: db.Float | None
    note: db.String | None
    inv = 10 / n
    shout = upper(note)
    label = note + sku

class Rides(Base, name="rides"):
    id = db.Column(value=uuid7(), primary_key=True)
    km: db.Int
    tip: db.Int | None
    double_km = km * 2
    fare = half(double_km)
    total = fare + tip
    note: db.String | None
    quiet = lower(note)
    why = fare.errortype

class Cells(Base, name="cells"):
    x = db.Column(type=db.Int, primary_key=True)
    day = db.Column(type=db.Date, primary_key=True)
    doc: db.Json | None
    vec: db.Array[db.Float] | None

api = Router(name="api")
api.add_insert_route(Items, path="/items")
api.add_update_route(Items, path="/items/update")
api.add_update_route(Items, path="/items/n", inputs=[Items.n], outputs=[Items.inv])
api.add_delete_route(Items, path="/items/delete")
api.add_delete_route(Items, path="/items/drop", match_columns=[Items.note, Items.price])
api.add_insert_route(Rides, path="/rides", on_error="ignore")
api.add_update_route(Rides, path="/rides/update")
api.add_update_route(Rides, path="/rides/try", on_error="ignore")
api.add_delete_route(Rides, path="/rides/delete", match_columns=[Rides.km])
api.add_insert_route(Cells, path="/cells")
api.add_update_route(Cells, path="/cells/update")
api.add_delete_route(Cells, path="/cells/delete")
`;

let app: TestApplication;

beforeAll(async () => {
  app = await openTestApplication(APP);
});

afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await app.sql.query({ text: "truncate items, rides, cells" });
});

const post = (path: string, body: unknown) => app.post(path, body);

async function rows(text: string): Promise<readonly (readonly (string | null)[])[]> {
  return (await app.sql.query({ text })).rows;
}

test("omitted fields keep their values, null clears, and dependents are recomputed", async () => {
  await post("/items", { sku: "a", n: 4, price: 2.5, note: "straße" });
  const first = await post("/items/update", { sku: "a", n: 5 });
  expect(first).toMatchObject({
    status: 200,
    json: { sku: "a", n: 5, price: 2.5, note: "straße", inv: 2, shout: "STRASSE", label: "straßea" },
  });
  const second = await post("/items/update", { sku: "a", note: null, price: 0 });
  expect(second.json).toEqual({ sku: "a", n: 5, price: 0, note: null, inv: 2, shout: null, label: null });
  expect(await rows("select sku, n, price, note, inv, shout, label, _errors from items")).toEqual([
    ["a", "5", "0", null, "2", null, null, null],
  ]);
});

test("only dependents of the sent columns are computed and written", async () => {
  await post("/items", { sku: "a", n: 4, note: "x" });
  await app.sql.query({ text: "update items set shout = 'by hand'" });
  expect((await post("/items/n", { sku: "a", n: 2 })).json).toEqual({ inv: 5 });
  expect(await rows("select n, inv, shout, note from items")).toEqual([["2", "5", "by hand", "x"]]);
});

test("a body without any input returns the unchanged row", async () => {
  await post("/items", { sku: "a", n: 4, note: "x" });
  const before = await rows("select xmin from items");
  expect((await post("/items/update", { sku: "a" })).json).toMatchObject({ sku: "a", n: 4, note: "x", shout: "X" });
  expect(await rows("select xmin from items")).toEqual(before);
  expect((await post("/items/update", { sku: "b" })).status).toBe(404);
});

test("a missing row is 404 with the key", async () => {
  const answer = await post("/items/update", { sku: "zz", n: 1 });
  expect(answer.status).toBe(404);
  expect(answer.json).toMatchObject({ code: "row_not_found", detail: 'items has no row with (sku) = ("zz").' });
  const id = "0192a3b4-0000-7000-8000-000000000000";
  expect((await post("/rides/update", { id, km: 1 })).json.code).toBe("row_not_found");
});

test("invalid fields of an update are reported with their pointers", async () => {
  const answer = await post("/items/update", { n: null, pricee: 1, inv: 3 });
  expect(answer.status).toBe(422);
  expect(answer.json.errors).toEqual([
    { pointer: "/n", detail: 'The field "n" must not be null.' },
    { pointer: "/pricee", detail: 'The route takes no field "pricee". Did you mean "price"?' },
    { pointer: "/inv", detail: '"inv" is computed by the service; omit it.' },
    { pointer: "/sku", detail: 'The field "sku" is required.' },
  ]);
  expect(answer.json.hint).toBe("The route takes: sku, n?, price?, note?");
});

test("distinguishes very long keys, and finds rows by a composite key", async () => {
  const long = "k".repeat(5_000);
  for (const sku of [long, `${long}!`]) await post("/items", { sku, n: 1 });
  expect((await post("/items/update", { sku: `${long}!`, n: 2 })).json.n).toBe(2);
  expect(await rows("select length(sku), n from items order by 1")).toEqual([
    ["5000", "1"],
    ["5001", "2"],
  ]);
  for (const x of [1, 2]) await post("/cells", { x, day: "2024-01-02" });
  const answer = await post("/cells/update", { x: 2, day: "2024-01-02", doc: { b: 1, a: [1.5] }, vec: [1, 2.5] });
  expect(answer.text).toContain('"doc":{"b":1,"a":[1.5]},"vec":[1.0,2.5]');
  expect(await rows("select x, doc, vec from cells order by x")).toEqual([
    ["1", null, null],
    ["2", '{"b":1,"a":[1.5]}', "{1,2.5}"],
  ]);
});

test("an error in SQL and Python refuses the update and changes nothing", async () => {
  await post("/items", { sku: "a", n: 4 });
  const answer = await post("/items/update", { sku: "a", n: 0, note: "new" });
  expect(answer).toMatchObject({ status: 400, json: { code: "function_failed", meta: { column: "inv" } } });
  expect(await rows("select n, note, inv from items")).toEqual([["4", null, "2.5"]]);
});

test("Python columns read sent values, and stored ones for the rest", async () => {
  const { id } = (await post("/rides", { km: 4, tip: 1, note: "Hi" })).json;
  const first = await post("/rides/update", { id, km: 6 });
  expect(first.json).toMatchObject({ km: 6, tip: 1, double_km: 12, fare: 6, total: 7, quiet: "hi" });
  const second = await post("/rides/update", { id, tip: 10 });
  expect(second.json).toMatchObject({ km: 6, tip: 10, fare: 6, total: 16 });
  expect(await rows("select km, tip, double_km, fare, total, quiet, why from rides")).toEqual([
    ["6", "10", "12", "6", "16", "hi", null],
  ]);
});

test("a raising function refuses the update, or leaves null with on_error=ignore", async () => {
  const { id } = (await post("/rides", { km: 4, tip: 1 })).json;
  const refused = await post("/rides/update", { id, km: 13, tip: 3 });
  expect(refused).toMatchObject({ status: 400, json: { code: "function_failed", meta: { column: "fare" } } });
  const stored = "select km, tip, double_km, fare, total, why, _errors from rides";
  expect(await rows(stored)).toEqual([["4", "1", "8", "4", "5", null, null]]);
  const kept = await post("/rides/try", { id, km: 13, note: "Hi" });
  expect(kept.json).toMatchObject({ km: 13, double_km: 26, fare: null, total: null, why: "ValueError", quiet: "hi" });
  expect(kept.headers["x-cell-errors"]).toBe('fare;type="ValueError", total;type="CellError"');
  const [failed] = await rows(stored);
  expect(failed?.slice(0, 6)).toEqual(["13", "1", "26", null, null, "ValueError"]);
  expect(JSON.parse(failed?.[6] ?? "")).toEqual({
    fare: { type: "ValueError", message: "unlucky", function: "app:half" },
    total: {
      type: "CellError",
      message: "fare has no value: ValueError: unlucky",
      function: "app:half",
      column: "fare",
    },
  });
});

test("a failed cell keeps its error until its inputs change", async () => {
  const { id } = (await post("/rides", { km: 13, tip: 1 })).json;
  const errors = "select jsonb_object_keys(_errors) from rides order by 1";
  // `total` reads `fare`, which is not recomputed and has no value.
  const tip = await post("/rides/update", { id, tip: 2 });
  expect(tip).toMatchObject({ status: 200, json: { tip: 2, fare: null, total: null, why: "ValueError" } });
  expect(await rows(errors)).toEqual([["fare"], ["total"]]);
  const km = await post("/rides/update", { id, km: 5 });
  expect(km.json).toMatchObject({ km: 5, fare: 5, total: 7, why: null });
  expect(await rows("select _errors from rides")).toEqual([[null]]);
});

test("concurrent updates of one row run in sequence and all count", async () => {
  await post("/items", { sku: "a", n: 1 });
  const numbers = Array.from({ length: 40 }, (_, at) => at + 1);
  const answers = await Promise.all(
    numbers.map((n) => post("/items/update", n % 2 === 0 ? { sku: "a", n } : { sku: "a", n, note: `note ${n}` })),
  );
  expect(answers.map(({ status, json }) => [status, json.n, json.inv])).toEqual(numbers.map((n) => [200, n, 10 / n]));
  expect(await rows("select n, note, inv from items")).toEqual([["40", "note 39", "0.25"]]);
});

test("a delete returns the number of rows, also zero", async () => {
  for (const sku of ["a", "b"]) await post("/items", { sku, n: 1 });
  const both = await Promise.all([post("/items/delete", { sku: "a" }), post("/items/delete", { sku: "a" })]);
  expect(both.map(({ json }) => json.num_rows).sort()).toEqual([0, 1]);
  expect(await post("/items/delete", { sku: "a" })).toMatchObject({ status: 200, json: { num_rows: 0 } });
  expect(await rows("select sku from items")).toEqual([["b"]]);
  await post("/cells", { x: 1, day: "2024-01-02" });
  expect((await post("/cells/delete", { x: 1, day: "2024-01-03" })).json).toEqual({ num_rows: 0 });
  expect((await post("/cells/delete", { x: 1, day: "2024-01-02" })).json).toEqual({ num_rows: 1 });
});

test("all match columns are compared, and null matches rows without a value", async () => {
  await post("/items", { sku: "a", n: 1, note: "x", price: 1 });
  await post("/items", { sku: "b", n: 1, note: "x" });
  await post("/items", { sku: "c", n: 1, note: "x" });
  await post("/items", { sku: "d", n: 1 });
  expect((await post("/items/drop", { note: "x", price: null })).json).toEqual({ num_rows: 2 });
  expect((await post("/items/drop", { note: null, price: null })).json).toEqual({ num_rows: 1 });
  expect(await rows("select sku from items")).toEqual([["a"]]);
  const missing = await post("/items/drop", { note: "x" });
  expect(missing.json.errors).toEqual([{ pointer: "/price", detail: 'The field "price" is required.' }]);
});

test("Prefer: timing returns the waits of updates and deletes", async () => {
  const headers = { prefer: "timing" };
  const { id } = (await post("/rides", { km: 4, tip: 1 })).json;
  const parts = async (path: string, body: object) => {
    const answer = await app.post(path, body, { headers });
    const shown = [...(answer.headers["server-timing"] ?? "").matchAll(/(\w+);dur=([\d.]+)/g)];
    return Object.fromEntries(shown.map(([, name, ms]) => [name, Number(ms) > 0]));
  };
  expect(await parts("/rides/update", { id, km: 6 })).toEqual({ db: true, py: true, total: true });
  expect(await parts("/rides/update", { id, note: "x" })).toEqual({ db: true, py: false, total: true });
  expect(await parts("/rides/delete", { km: 6 })).toEqual({ db: true, py: false, total: true });
});
