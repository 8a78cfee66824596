import type { Manifest, ManifestRoute } from "@appdb/contract/manifest";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  aRowRoute,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { type AnsweredJson, openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";

let catalog: TestCatalog;

beforeEach(async () => {
  catalog = await openTestCatalog();
});

afterEach(async () => {
  await catalog[Symbol.asyncDispose]();
});

const DOCS = aTable("docs", [
  aUuid7Key(),
  aColumn("title", "string"),
  aColumn("body", "string", { nullable: true }),
  aComputed("title_upper", call("string.upper", "string", col("title", "string"))),
]);

const ITEM_INPUTS = ["sku", "n", "price", "ok", "at", "day", "tag", "doc"];
const ITEMS = aTable("items", [
  aColumn("sku", "string", { primary_key: true }),
  aColumn("n", "int"),
  aColumn("price", "float", { nullable: true }),
  aColumn("ok", "bool", { nullable: true }),
  aColumn("at", "timestamp", { nullable: true }),
  aColumn("day", "date", { nullable: true }),
  aColumn("tag", "uuid", { nullable: true }),
  aColumn("doc", "json", { nullable: true }),
  aComputed("inv", call("op.truediv", "float", lit("10", "int"), col("n", "int"))),
]);

const RIDES = aTable("rides", [
  aUuid7Key(),
  aColumn("km", "int"),
  aComputed("double_km", call("op.mul", "int", col("km", "int"), lit("2", "int"))),
  aComputed("fare", udf("udfs:fare", "float", col("double_km", "int"))),
  aComputed("tax", call("op.mul", "float", col("fare", "float"), lit(0.5, "float"))),
]);

const FARE = aFunction("udfs:fare", "float");

type Post = (path: string, body: unknown) => Promise<AnsweredJson>;

async function serve(parts: Partial<Manifest>, routes: ManifestRoute[]): Promise<Post> {
  const manifest = aManifest({
    ...parts,
    services: [{ name: "api", prefix: "", routes, source: { file: "app.py", line: 1 } }],
  });
  await catalog.apply(manifest);
  return open(manifest);
}

/** Bodies are bytes, as HTTP delivers them. */
async function open(manifest: Manifest): Promise<Post> {
  const { post } = await catalog.serve(manifest);
  return (path, body) => post(path, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}

function rows(text: string): ReturnType<TestCatalog["rows"]> {
  return catalog.rows(text);
}

test("an insert returns exactly its outputs in order and stores the row", async () => {
  const post = await serve({ tables: [DOCS] }, [aRowRoute("docs", ["title", "body"], ["title_upper", "id", "body"])]);
  const answer = await post("/docs", { title: "straße", body: null });
  expect(answer.status).toBe(200);
  expect(Object.keys(answer.json)).toEqual(["title_upper", "id", "body"]);
  expect(answer.json.title_upper).toBe("STRASSE");
  expect(await rows("select id, title, body, title_upper, _errors from docs")).toEqual([
    [answer.json.id, "straße", null, "STRASSE", null],
  ]);
});

test("every type round-trips exactly", async () => {
  const post = await serve({ tables: [ITEMS] }, [aRowRoute("items", ITEM_INPUTS, [...ITEM_INPUTS, "inv"])]);
  // SQL refuses to divide an Int above 2^53, so Python divides it.
  catalog.steps.inv = (row) => 10 / Number(row.n);
  const doc = '{"z": 1.50, "a": [9007199254740993, {"b": null}], "z2":"\\u00e4"}';
  const body = `{"sku":"a\\"b\\\\c{,}","n":-9223372036854775808,"price":1e-7,"ok":false,"at":"2024-02-29T23:30:00.000100+02:00","day":"2024-02-29","tag":"0190A3C4-0000-7000-8000-00000000000F","doc":${doc}}`;
  const answer = await post("/items", body);
  expect(answer.status).toBe(200);
  expect(answer.text).toBe(
    `{"sku":"a\\"b\\\\c{,}","n":-9223372036854775808,"price":1e-7,"ok":false,"at":"2024-02-29T21:30:00.000100Z","day":"2024-02-29","tag":"0190a3c4-0000-7000-8000-00000000000f","doc":${doc},"inv":${answer.json.inv}}`,
  );
  const [stored] = await rows("select sku, n, price, ok, at, day, tag, doc, inv from items");
  expect(stored?.slice(0, 8)).toEqual([
    'a"b\\c{,}',
    "-9223372036854775808",
    "1e-07",
    "f",
    "2024-02-29 21:30:00.0001+00",
    "2024-02-29",
    "0190a3c4-0000-7000-8000-00000000000f",
    doc,
  ]);
  expect(Number(stored?.[8])).toBe(answer.json.inv);
});

test("nullable fields can be omitted, and text may look like SQL", async () => {
  const post = await serve({ tables: [ITEMS] }, [aRowRoute("items", ITEM_INPUTS, ["sku", "price", "doc"])]);
  const sku = '\'; drop table items; -- {NULL},"x"\n\t\\';
  expect((await post("/items", { sku, n: 1 })).json).toEqual({ sku, price: null, doc: null });
  expect((await post("/items", { sku: "NULL", n: 1 })).json.sku).toBe("NULL");
  expect((await post("/items", { sku: "", n: 1 })).json.sku).toBe("");
  expect(await rows("select count(*), count(price) from items")).toEqual([["3", "0"]]);
});

test("a second row of one key is refused, and the first stays unchanged", async () => {
  const post = await serve({ tables: [ITEMS] }, [aRowRoute("items", ITEM_INPUTS, ["sku", "n"])]);
  const long = "k".repeat(5_000);
  expect((await post("/items", { sku: long, n: 1 })).status).toBe(200);
  expect((await post("/items", { sku: `${long}2`, n: 2 })).status).toBe(200);
  const refused = await post("/items", { sku: long, n: 3 });
  expect(refused.status).toBe(409);
  expect(refused.json.code).toBe("unique_violation");
  expect(refused.json.detail).toContain("unique constraint");
  expect(refused.json.detail).toContain("sku");
  expect(await rows("select n from items order by n")).toEqual([["1"], ["2"]]);
});

test("of many concurrent rows, each bad one fails alone", async () => {
  const post = await serve({ tables: [ITEMS] }, [aRowRoute("items", ITEM_INPUTS, ["sku", "inv"])]);
  catalog.steps.inv = () => {
    throw new Error("division by zero");
  };
  const sent = Array.from({ length: 200 }, (_, index) => ({
    sku: index % 50 === 7 ? "same" : `s${index}`,
    n: index % 40 === 3 ? 0 : index,
  }));
  sent[0] = { sku: "s0", n: 5 };
  const answers = await Promise.all(sent.map((row) => post("/items", row)));
  answers.forEach((answer, index) => {
    const row = sent[index];
    if (row?.n === 0) {
      expect(answer.json).toMatchObject({ status: 400, code: "function_failed" });
      expect(answer.json.meta).toMatchObject({ column: "inv", message: "division by zero" });
    } else if (row?.sku !== "same") {
      expect(answer).toMatchObject({ status: 200, json: { sku: row?.sku, inv: 10 / (row?.n ?? 1) } });
    }
  });
  expect(answers.filter((answer) => answer.status === 409)).toHaveLength(3);
  expect(await rows("select count(*), count(distinct sku) from items")).toEqual([["192", "192"]]);
});

test("Python makes and stores a value that SQL cannot", async () => {
  const post = await serve({ tables: [ITEMS] }, [aRowRoute("items", ITEM_INPUTS, ["sku", "inv"])]);
  catalog.steps.inv = () => 0.25;
  expect((await post("/items", { sku: "a", n: 0 })).json).toEqual({ sku: "a", inv: 0.25 });
  expect(await rows("select sku, inv from items")).toEqual([["a", "0.25"]]);
  expect(catalog.udf.calls).toEqual([[0]]);
});

test("a function's column, its inputs and its readers are stored together", async () => {
  const post = await serve({ tables: [RIDES], functions: [FARE] }, [
    aRowRoute("rides", ["km"], ["double_km", "fare", "tax"]),
  ]);
  catalog.steps.double_km = (row) => Number(row.km) * 2;
  catalog.steps.fare = (row) => Number(row.double_km) + 0.5;
  expect((await post("/rides", { km: 3 })).json).toEqual({ double_km: 6, fare: 6.5, tax: 3.25 });
  expect(catalog.udf.calls).toEqual([[3]]);
  expect(await rows("select km, double_km, fare, tax from rides")).toEqual([["3", "6", "6.5", "3.25"]]);
});

test("a raising function fails its own request and stores nothing", async () => {
  const post = await serve({ tables: [RIDES], functions: [FARE] }, [aRowRoute("rides", ["km"], ["fare"])]);
  catalog.steps.double_km = (row) => Number(row.km) * 2;
  catalog.steps.fare = (row) => {
    if (row.double_km === 26) throw new RangeError("unlucky");
    return 1;
  };
  const answers = await Promise.all([1, 13, 2].map((km) => post("/rides", { km })));
  expect(answers.map((answer) => answer.status)).toEqual([200, 400, 200]);
  expect(answers[1]?.json).toMatchObject({
    code: "function_failed",
    instance: "req-1",
    meta: { function: "udfs:fare", column: "fare", type: "ValueError", message: "unlucky" },
  });
  expect(answers[1]?.json.detail).toContain("unlucky");
  expect(await rows("select km from rides order by km")).toEqual([["1"], ["2"]]);
});

test("a compute route stores nothing and needs only its inputs", async () => {
  const post = await serve({ tables: [ITEMS, RIDES], functions: [FARE] }, [
    aRowRoute("items", ["n"], ["inv", "price"], { kind: "compute" }),
    aRowRoute("rides", ["km"], ["tax", "km"], { kind: "compute" }),
  ]);
  catalog.steps.double_km = (row) => Number(row.km) * 2;
  catalog.steps.fare = (row) => Number(row.double_km);
  catalog.steps.inv = () => {
    throw new Error("division by zero");
  };
  const answers = await Promise.all([4, 0, 5].map((n) => post("/items", { n })));
  expect(answers.map((answer) => answer.status)).toEqual([200, 400, 200]);
  expect(answers[0]?.json).toEqual({ inv: 2.5, price: null });
  expect(answers[1]?.json.meta).toMatchObject({ column: "inv", message: "division by zero" });
  expect((await post("/rides", { km: 8 })).json).toEqual({ tax: 8, km: 8 });
  expect(await rows("select (select count(*) from items), (select count(*) from rides)")).toEqual([["0", "0"]]);
});

test("an older service continues when columns are added; new ones are pending", async () => {
  const post = await serve({ tables: [DOCS] }, [aRowRoute("docs", ["title", "body"], ["title_upper"])]);
  await post("/docs", { title: "a" });
  const added = aTable("docs", [
    ...DOCS.columns,
    aColumn("note", "string", { nullable: true }),
    aComputed("loud", call("string.upper", "string", col("title_upper", "string"))),
  ]);
  await catalog.apply(aManifest({ tables: [added] }));
  const answers = await Promise.all(["b", "c", "d"].map((title) => post("/docs", { title })));
  expect(answers.map((answer) => answer.json)).toEqual([
    { title_upper: "B" },
    { title_upper: "C" },
    { title_upper: "D" },
  ]);
  expect(await rows("select title, note, loud, _errors from docs where title <> 'a' order by title")).toEqual([
    ["b", null, null, '{"loud": "pending"}'],
    ["c", null, null, '{"loud": "pending"}'],
    ["d", null, null, '{"loud": "pending"}'],
  ]);
  expect(await rows("select count(*) from appdb.jobs where kind = 'close_pending'")).toEqual([["1"]]);
});

test("an older service on newer tables computes known columns, others are pending", async () => {
  const service = { name: "api", prefix: "", source: { file: "app.py", line: 1 } };
  const routes = [aRowRoute("docs", ["title", "body"], ["title_upper"])];
  const older = aManifest({ tables: [DOCS], services: [{ ...service, routes }] });
  const lower = aComputed("title_upper", call("string.lower", "string", col("title", "string")));
  const columns = DOCS.columns.map((column) => (column.name === "title_upper" ? lower : column));
  const newer = [...columns, aComputed("fare", udf("udfs:fare", "float", col("title", "string")))];
  await catalog.apply(aManifest({ tables: [aTable("docs", newer)], functions: [FARE] }));
  const post = await open(older);
  expect((await post("/docs", { title: "aB" })).json).toEqual({ title_upper: "AB" });
  expect(catalog.udf.calls).toEqual([]);
  expect(await rows("select title_upper, fare, _errors from docs")).toEqual([
    ["AB", null, '{"fare": "pending", "title_upper": "pending"}'],
  ]);
});

test("a service with a dropped column gets 409 with the command to type", async () => {
  const post = await serve({ tables: [ITEMS] }, [aRowRoute("items", ITEM_INPUTS, ["sku"])]);
  expect((await post("/items", { sku: "a", n: 1 })).status).toBe(200);
  const without = aTable(
    "items",
    ITEMS.columns.filter((column) => column.name !== "price"),
  );
  await catalog.apply(aManifest({ tables: [without] }), { allow_destructive: true });
  for (const sku of ["b", "c"]) {
    const refused = await post("/items", { sku, n: 1 });
    expect(refused.status).toBe(409);
    expect(refused.json).toMatchObject({ code: "schema_changed", meta: { table: "items", column: "price" } });
    expect(refused.json.hint).toContain("cli service update app.py main");
  }
  expect(await rows("select count(*) from items")).toEqual([["1"]]);
});

test("reports a duplicate key in a changed table", async () => {
  const post = await serve({ tables: [ITEMS] }, [aRowRoute("items", ITEM_INPUTS, ["sku"])]);
  await post("/items", { sku: "a", n: 1 });
  const added = aTable("items", [...ITEMS.columns, aColumn("note", "string", { nullable: true })]);
  await catalog.apply(aManifest({ tables: [added] }));
  const answers = await Promise.all(["a", "b", "a"].map((sku) => post("/items", { sku, n: 2 })));
  expect(answers.map((answer) => answer.status)).toEqual([409, 200, 409]);
});

test("a service does not open on tables that differ from its file", async () => {
  const manifest = aManifest({
    tables: [DOCS],
    services: [
      { name: "api", prefix: "", routes: [aRowRoute("docs", ["title"], ["id"])], source: { file: "app.py", line: 1 } },
    ],
  });
  await expect(open(manifest)).rejects.toMatchObject({
    code: "schema_mismatch",
    hint: "Update the service from the current app.py: cli service update app.py main",
  });
});

test("a route that cannot work is refused before anything is served", async () => {
  const routes: [ManifestRoute, RegExp][] = [
    [aRowRoute("docs", ["titel"], []), /app\.py:9: .*no column titel.*title/],
    [aRowRoute("docs", ["title", "title_upper"], []), /title_upper is computed/],
    [aRowRoute("docs", ["body"], []), /title is required/],
    [aRowRoute("nope", [], []), /Table nope does not exist/],
    [aRowRoute("docs", ["title"], [], { path: "/health" }), /every service answers it/],
  ];
  for (const [bad, message] of routes) {
    const manifest = aManifest({
      tables: [DOCS],
      services: [{ name: "api", prefix: "", routes: [bad], source: { file: "app.py", line: 1 } }],
    });
    await expect(open(manifest)).rejects.toMatchObject({
      code: "app_invalid",
      message: expect.stringMatching(message),
    });
  }
});

test("20 clients with overlapping keys all get a response", async () => {
  const post = await serve({ tables: [ITEMS] }, [aRowRoute("items", ITEM_INPUTS, ["sku"])]);
  const answers = await Promise.all(
    Array.from({ length: 2_000 }, (_, index) => post("/items", { sku: `k${(index * 7919) % 300}`, n: 1 })),
  );
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(300);
  expect(answers.filter((answer) => answer.status === 409)).toHaveLength(1_700);
});
