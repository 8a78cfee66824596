import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { explainQuery } from "../endpoints/explain-query.ts";
import { QUERY_APP, QUERY_ROWS } from "./testing/query-app.ts";

/** Every verb of a query on a real database, through routes. SQL and Python results are compared where both exist. */
let app: TestApplication;

beforeAll(async () => {
  app = await openTestApplication(QUERY_APP);
  for (const row of QUERY_ROWS) expect((await app.post("/items", row)).status).toBe(200);
  for (const [name, rank] of Object.entries({ k1: 1, k2: 2, k3: 3 })) await app.post("/kinds", { name, rank });
});

afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
});

const rows = async (path: string) => {
  const answer = await app.get(path);
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
};

test("a query without order returns all columns in insertion order", async () => {
  const { rows: found } = await rows("/every");
  expect(found.map((row: { sku: string }) => row.sku)).toEqual(QUERY_ROWS.map((row) => row.sku));
  expect(Object.keys(found[0])).toEqual(["sku", "kind", "n", "price", "ok", "day", "at", "tag", "doc", "half"]);
  expect((await app.post("/every", "")).json.rows).toEqual(found);
  const { text } = await app.get("/every");
  expect(text).toContain('"price":2.0');
  expect(text).toContain('"at":"2024-01-01T00:30:00Z"');
});

test("one_row returns the object; none is 404, several are 409", async () => {
  expect(await rows("/by_sku?sku=a")).toEqual({ n: 7, sku: "a", up: "A" });
  expect((await app.post("/by_sku", { sku: "É" })).json).toEqual({ n: null, sku: "É", up: "É" });
  expect(await app.get("/by_sku?sku=zz")).toMatchObject({ status: 404, json: { code: "row_not_found" } });
  const several = await app.get("/one_of_kind?kind=k1");
  expect(several).toMatchObject({ status: 409, json: { code: "several_rows", meta: { rows: 2 } } });
});

test("reads by key of many requests are one statement", async () => {
  await app.get("/by_sku?sku=a");
  app.statements();
  const skus = Array.from({ length: 40 }, (_none, at) => QUERY_ROWS[at % QUERY_ROWS.length]?.sku ?? "");
  const answers = await Promise.all(skus.map((sku) => app.get(`/by_sku?sku=${encodeURIComponent(sku)}`)));
  expect(answers.map(({ json }) => json.sku)).toEqual(skus);
  expect(app.statements()).toHaveLength(1);
});

test("equal concurrent queries share a run, different ones do not", async () => {
  app.statements();
  const same = await Promise.all(Array.from({ length: 30 }, () => app.get("/filtered?n=1")));
  expect(new Set(same.map(({ text }) => text)).size).toBe(1);
  expect(app.statements().length).toBeLessThanOrEqual(3);
  const [one, two] = await Promise.all([app.get("/filtered?n=1"), app.get("/filtered?n=5")]);
  expect([one?.json, two?.json]).toEqual([["a", "c", "z"], ["a"]]);
});

test("where takes values of the request, and leaves conditions out that a default switches off", async () => {
  expect(await rows("/by_kind?kind=k1")).toEqual(["a", "b"]);
  expect(await rows("/by_kind?kind=no")).toEqual([]);
  expect(await rows("/maybe")).toHaveLength(6);
  expect(await rows("/maybe?kind=k2")).toEqual(["c", "z"]);
  expect((await app.post("/maybe", { n: 3, kind: "k2" })).json).toEqual(["c", "z"]);
  expect((await app.post("/maybe", { n: null })).json).toHaveLength(6);
  expect(await rows("/from_kind?kind=k2")).toEqual(["k2", "k2", "k9"]);
});

test("the first sort key is the major one; nulls sort as largest", async () => {
  expect(await rows("/ordered")).toEqual(["b", "d", "z", "c", "a", "É"]);
  expect(await rows("/ordered?lim=2&off=1")).toEqual(["d", "z"]);
  expect((await rows("/ordered_desc"))[0]).toBe("É");
});

test("Python computes the same rows as SQL", async () => {
  expect(await rows("/ordered_python")).toEqual(await rows("/ordered"));
  expect(await rows("/ordered_python?lim=3")).toEqual(["b", "d", "z"]);
  expect(await rows("/filtered_python?n=1")).toEqual(await rows("/filtered?n=1"));
  expect(await rows("/first_filtered_python?lim=2&off=1")).toEqual(["b", "c"]);
  expect(await rows("/tail_python")).toEqual(await rows("/tail"));
  expect(await rows("/distinct_python")).toEqual(await rows("/distinct"));
  expect(await rows("/sampled_python")).toEqual(await rows("/sampled"));
  const byPython = await rows("/groups_python");
  const bySql = await rows("/groups");
  expect(byPython.rows.map(({ same: kind, ...rest }: { same: unknown }) => ({ kind, ...rest }))).toEqual(bySql.rows);
});

test("head, tail, count, limit", async () => {
  expect(await rows("/head")).toEqual(["a", "b"]);
  expect(await rows("/tail")).toEqual(["z", "É"]);
  expect(await rows("/tail?n=0")).toEqual([]);
  expect(await rows("/total")).toBe(3);
  expect(await rows("/total_python")).toBe(6);
  expect(await app.get("/ordered?lim=-1")).toMatchObject({
    status: 422,
    json: { errors: [{ pointer: "/lim", detail: expect.stringContaining("negative") }] },
  });
});

test("groups with aggregates", async () => {
  const answer = await app.get("/groups");
  expect(answer.json.rows).toEqual([
    { kind: "k1", count: 2, total: 5, low: "a", high: 1.5, mean: 2.5, skus: ["a", "b"], share: 2.5 },
    { kind: "k2", count: 2, total: 6, low: "c", high: 1e20, mean: 3, skus: ["c", "z"], share: 3 },
    { kind: "k9", count: 1, total: null, low: "É", high: null, mean: null, skus: ["É"], share: null },
    { kind: null, count: 1, total: 0, low: "d", high: -0.5, mean: 0, skus: ["d"], share: 0 },
  ]);
  expect(await rows("/groups_by_count")).toEqual(["k1", "k2", "k9", null]);
  expect((await rows("/nothing")).rows).toEqual([{ s: null, c: 0, r: 0, lo: null, m: null, l: [] }]);
  expect(await rows("/no_groups")).toEqual([]);
  const { text } = await app.get("/extremes");
  expect(JSON.parse(text)).toEqual({
    min: false,
    max: true,
    max_1: "2024-02-29",
    min_1: "2024-01-01T00:00:00Z",
    lists: [1.5, 2, -0.5, 1e20],
    days: ["2024-02-29", "2020-01-01"],
    ats: ["2024-01-01T00:00:00Z", "2024-01-01T00:30:00Z"],
  });
  expect(text).toContain("2.0");
});

test("an overflow of an Int sum is an error", async () => {
  expect(await app.get("/too_much")).toMatchObject({ status: 400, json: { code: "function_failed" } });
});

test("distinct rows in the requested order", async () => {
  expect(await rows("/distinct")).toEqual(["k1", "k2", "k9", null]);
  expect(await rows("/distinct_desc")).toEqual([null, "k9"]);
});

test("inner, left, right, full and cross joins", async () => {
  expect((await rows("/inner")).rows.map(Object.values)).toEqual([
    ["a", 1],
    ["b", 1],
    ["c", 2],
    ["z", 2],
  ]);
  const left = [
    ["a", 1],
    ["b", 1],
    ["c", 2],
    ["d", null],
    ["z", 2],
    ["É", null],
  ];
  expect((await rows("/left")).rows.map(Object.values)).toEqual(left);
  expect((await rows("/left_python")).rows.map(Object.values)).toEqual(left);
  expect((await rows("/right")).rows.map(Object.values)).toEqual([
    ["a", "k1"],
    ["b", "k1"],
    ["c", "k2"],
    ["z", "k2"],
    [null, "k3"],
  ]);
  expect((await rows("/full")).rows).toHaveLength(7);
  // PostgreSQL itself has no full join without an equality.
  expect((await rows("/full_of_any")).rows.map(Object.values)).toEqual([
    ["a", "k2"],
    ["a", "k3"],
    ["b", null],
    ["c", "k3"],
    ["d", null],
    ["z", "k3"],
    ["É", null],
    [null, "k1"],
  ]);
  // both sides of the equality are of the first table
  expect(await rows("/full_of_one")).toBe(16);
  expect(await rows("/cross")).toBe(18);
});

test("a sample has the requested size, and depends on its seed", async () => {
  const drawn = await rows("/sampled");
  expect(new Set(drawn).size).toBe(3);
  expect(await rows("/sampled")).toEqual(drawn);
  const part = await rows("/fraction");
  expect(await rows("/fraction")).toEqual(part);
  expect(await rows("/none_drawn")).toEqual([]);
  expect(await rows("/grouped_sample")).toEqual([4]);
});

test("%, // and division by zero match Python in queries and columns", async () => {
  expect(await rows("/signs")).toEqual({ m: 2, d: -4, c: 3.5 });
  const { json, status } = await app.get("/divided");
  expect({ status, code: json.code, type: json.meta.type }).toEqual({
    status: 400,
    code: "function_failed",
    type: "ZeroDivisionError",
  });
  expect(json.meta.message).toBe("division by zero");
  expect(json.detail).toMatch(
    /^The query divided, column .*: the operator \/ raised ZeroDivisionError: division by zero$/,
  );
  expect(await rows("/divided_guarded")).toEqual(["c", "z"]);
  expect((await app.get("/divided_unguarded")).json.meta.type).toBe("ZeroDivisionError");
});

test("a raising function is reported with its name", async () => {
  const { status, json } = await app.get("/failing");
  expect({ status, code: json.code, type: json.meta.type, message: json.meta.message }).toEqual({
    status: 400,
    code: "function_failed",
    type: "ValueError",
    message: "no 3",
  });
  expect(json.meta).toMatchObject({ query: "failing", column: "fails", row: 1 });
  expect(json.detail).toContain("column fails of row 1");
});

test("parts of Json values", async () => {
  expect((await rows("/parts")).rows).toEqual([
    { doc_a_b: [1.5], x: null },
    { doc_a_b: null, x: 1 },
    { doc_a_b: null, x: null },
  ]);
});

test("URL parameters are converted to their types", async () => {
  const tag = "0189DCF9-7E8B-7000-8000-000000000000";
  const given = `n=-9223372036854775808&price=12&ok=true&day=2024-02-29&at=2024-01-01T02:00:00%2B02:00&tag=${tag}&doc={"a":1}`;
  const { text, status } = await app.get(`/values?${given}`);
  expect(status, text).toBe(200);
  expect(text).toBe(
    `{"n":-9223372036854775808,"price":12.0,"ok":true,"day":"2024-02-29","at":"2024-01-01T00:00:00Z","tag":"${tag.toLowerCase()}"}`,
  );
  const wrong = await app.get("/values?n=1.5&price=x&ok=maybe&day=2024-13-01&at=now&tag=1&nn=1");
  expect(wrong.status).toBe(422);
  expect(wrong.json.errors.map((error: { pointer: string }) => error.pointer)).toEqual([
    "/n",
    "/price",
    "/ok",
    "/day",
    "/at",
    "/tag",
    "/nn",
  ]);
  expect((await app.get("/by_kind?kindd=1")).json.errors[0].detail).toContain('Did you mean "kind"?');
});

const HOSTILE = [
  "'; drop table items; --",
  "\\'; drop table items; --",
  "$1",
  '"; drop table items; --',
  "E'\\047'",
  "{a,b}",
  'a","b',
  "NULL",
  "%' or 1=1 --",
  "\u2019\u02bc'",
];

test("request text never becomes part of a statement", async () => {
  for (const text of HOSTILE) {
    const { json } = await app.get(`/echo?text=${encodeURIComponent(text)}`);
    expect(json).toEqual({ got: text, again: text.toUpperCase(), eq: false });
    expect((await app.get(`/by_sku?sku=${encodeURIComponent(text)}`)).status).toBe(404);
    expect(await rows(`/by_kind?kind=${encodeURIComponent(text)}`)).toEqual([]);
    expect(await rows(`/filtered_python?n=100`)).toEqual([]);
  }
  expect(await rows("/columns_named")).toEqual({
    rows: [{ sku: "a", "a'; drop table items; --": 7, 'b"': 7, "c\\": 7 }],
  });
  expect(await rows("/total")).toBe(3);
});

test("a text is found by key and index, whatever it contains", async () => {
  for (const [at, text] of HOSTILE.entries()) {
    expect((await app.post("/items", { sku: text, kind: `${text}${at}` })).status).toBe(200);
    expect((await rows(`/by_sku?sku=${encodeURIComponent(text)}`)).sku).toBe(text);
    expect(await rows(`/by_kind?kind=${encodeURIComponent(`${text}${at}`)}`)).toEqual([text]);
  }
});

test("an equality on an indexed text or key uses its index", async () => {
  await app.sql.query({
    text: "insert into items (_row, sku, kind) select uuidv7(), 'x' || i, 'kind' || i from generate_series(1, 20000) i",
  });
  await app.sql.query({ text: "analyze items" });
  app.statements();
  await app.get("/by_kind?kind=kind7");
  await app.get("/by_sku?sku=x7");
  const plans: string[] = [];
  for (const statement of app.statements()) {
    const { rows: lines } = await app.sql.query({
      text: `explain ${statement.text}`,
      values: statement.values ?? [],
    });
    plans.push(lines.flat().join("\n"));
  }
  expect(plans[0]).toContain('"items(kind)"');
  expect(plans[1]).toContain('"items.key"');
});

test("explain shows statements, Python parts with reasons, and the plan", async () => {
  const explain = (query: string, params: Record<string, string> = {}, analyze = false) =>
    explainQuery(app.sql, {
      manifest: app.manifest,
      target: "main",
      query,
      params,
      analyze,
      limits: DEFAULT_LIMITS,
    });
  const plain = await explain("by_kind");
  expect(plain.statements).toHaveLength(1);
  expect(plain.parts.every((part) => part.runs_in === "SQL")).toBe(true);
  expect(plain.plan.join("\n")).toContain('"items(kind)"');
  const measured = await explain("by_kind", { kind: "k1" }, true);
  expect(measured.plan.join("\n")).toMatch(/actual time/);
  const both = await explain("app:filtered_python", { n: "1" });
  expect(both.statements).toHaveLength(2);
  expect(both.parts).toContainEqual({
    clause: "where",
    runs_in: "Python",
    what: "app:yes",
    why: "app:yes is a function of the application",
  });
  await expect(explain("by_kinds")).rejects.toMatchObject({ code: "query_not_found", hint: "Did you mean by_kind?" });
  await expect(explain("by_kind", { kinds: "a" })).rejects.toMatchObject({ code: "invalid_request" });
});
