import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Answer,
  expectExit,
  expectProblem,
  hold,
  makeProject,
  post,
  query,
  read,
  serveProject,
  writeFile,
} from "./support/served.ts";

/** Known problems of other products, by number: queries and their limits. */
const APP = `
import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router
from helpers import refuse, same

Base = db.model_base()

class Numbers(Base, name="numbers"):
    id = db.Column(value=uuid7(), primary_key=True)
    a: db.Int
    b: db.Int
    rest = a % 3
    rest_py = same(a) % 3

class Ratios(Base, name="ratios"):
    a: db.Int
    b: db.Int
    ratio = a / b

class Notes(Base, name="notes"):
    key = db.Column(db.String, primary_key=True, comment="what a note is found by")
    n: db.Int | None
    body: db.String | None
    loud = upper(key)

@db.query
def divided(b: int):
    """What PostgreSQL divides."""
    return Numbers.where(Numbers.b == b).order_by(Numbers.a).select(
        rest=Numbers.a % 3, whole=Numbers.a // Numbers.b, ratio=Numbers.a / Numbers.b, stored=Numbers.rest)

@db.query
def divided_py(b: int):
    """What Python divides."""
    return Numbers.where(Numbers.b == b).order_by(Numbers.a).select(
        rest=same(Numbers.a) % 3, whole=same(Numbers.a) // Numbers.b, ratio=same(Numbers.a) / Numbers.b,
        stored=Numbers.rest_py)

@db.query(return_scalar=True)
def of_rest(rest: int):
    return Numbers.where((Numbers.a % 3 == rest) & (Numbers.b != 0)).order_by(Numbers.a).select(Numbers.a)

@db.query
def note(key: str):
    return Notes.where(Notes.key == key).select(Notes.key, Notes.n)

@db.query
def numbered(n: int = 7, most: int = 10):
    return Notes.where(Notes.n == n).order_by(Notes.key).limit(most).select(Notes.key)

@db.query
def checked(key: str):
    return Notes.where(Notes.key == key).select(said=refuse(Notes.key))

@db.query(return_scalar=True)
def keys():
    return Notes.order_by(Notes.key).select(Notes.key)

@db.query(return_scalar=True)
def bodies():
    return Notes.where(Notes.body != None).limit(10).select(Notes.body)

@db.query(return_scalar=True)
def sorted_py():
    return Notes.where(Notes.n != None).order_by(same(Notes.n)).select(Notes.key)

api = Router()
api.add_insert_route(Numbers, path="/numbers", inputs=["a", "b"], outputs=["rest", "rest_py"])
api.add_insert_route(Ratios, path="/ratios", outputs=["ratio"])
api.add_insert_route(Notes, path="/notes", outputs=["key"])
api.add_compute_route(Notes, path="/louder", inputs=["key"], outputs=["loud"])
for made in (divided, divided_py, numbered, checked):
    api.add_query_route(path="/" + made.__name__, query=made)
for made in (of_rest, numbered, keys, bodies, sorted_py):
    api.add_query_route(path="/get/" + made.__name__, query=made, method="get")
api.add_query_route(path="/note", query=note, one_row=True)
api.add_query_route(path="/one", query=numbered, one_row=True)
`;
const HELPERS = `
import appdb as db

@db.udf
def same(n: int) -> int:
    return n

@db.udf
def refuse(key: str) -> str:
    if key == "refused":
        raise PermissionError("not this one")
    return key[:10]
`;
const LIMITS = { result_rows: 50, result_bytes: 20_000, rows_in_flight: 40, statement_timeout_ms: 3_000 };

let project: TestProject;
let url: string;

beforeAll(async () => {
  const env = Object.entries(LIMITS).map(([name, value]) => [`SERVICE_${name.toUpperCase()}`, String(value)]);
  project = await makeProject(APP, { env: Object.fromEntries(env) });
  writeFile(project, "helpers.py", HELPERS);
  url = await serveProject(project);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

async function get(path: string): Promise<Answer> {
  return read(await fetch(`${url}/get${path}`));
}

test("S5: an expression has equal values in columns and queries, SQL and Python", async () => {
  const rows = [
    [-8, 2, 1, -4, -4],
    [-7, 2, 2, -4, -3.5],
    [1, 2, 1, 0, 0.5],
    [7, -2, 1, -4, -3.5],
    [9, 3, 0, 3, 3],
  ] as const;
  for (const [a, b, rest] of rows) {
    expect((await post(`${url}/numbers`, { a, b })).json).toEqual({ rest, rest_py: rest });
  }
  for (const divisor of [2, -2, 3]) {
    const wanted = rows.flatMap(([, b, rest, whole, ratio]) =>
      b === divisor ? [{ rest, whole, ratio, stored: rest }] : [],
    );
    for (const path of ["/divided", "/divided_py"]) {
      expect((await post(url + path, { b: divisor })).json).toEqual({ rows: wanted });
    }
  }
  expect((await get("/of_rest?rest=2")).json).toEqual([-7]);
  expect((await get("/of_rest?rest=-1")).json).toEqual([]);
});

test("S5: a division by zero is the same error everywhere", async () => {
  await post(`${url}/numbers`, { a: 1, b: 0 });
  const answers = [
    await post(`${url}/ratios`, { a: 1, b: 0 }),
    await post(`${url}/divided`, { b: 0 }),
    await post(`${url}/divided_py`, { b: 0 }),
  ];
  for (const { json } of answers) {
    expect(json).toMatchObject({ status: 400, code: "function_failed", meta: { type: "ZeroDivisionError" } });
  }
});

test("S3, S4: keeps a query's values exactly or refuses them by parameter", async () => {
  const long = "k".repeat(4_999);
  for (const last of ["a", "b"]) await post(`${url}/notes`, { key: long + last, n: last === "a" ? 1 : 2 });
  expect((await post(`${url}/note`, { key: `${long}b` })).json).toEqual({ key: `${long}b`, n: 2 });
  for (const n of ["-9223372036854775808", "9223372036854775807"]) {
    await post(`${url}/notes`, `{"key":"extreme ${n}","n":${n}}`);
    expect((await post(`${url}/numbered`, `{"n":${n}}`)).json).toEqual({ rows: [{ key: `extreme ${n}` }] });
    expect((await get(`/numbered?n=${n}`)).json).toEqual({ rows: [{ key: `extreme ${n}` }] });
    expect((await post(`${url}/note`, { key: `extreme ${n}` })).text).toContain(`"n":${n}}`);
  }
  for (const [path, body, pointer] of [
    ["/numbered", '{"n":9223372036854775808}', "/n"],
    ["/note", '{"key":"x\\ud83d"}', "/key"],
    ["/note", '{"key":"x\\u0000"}', "/key"],
  ] as const) {
    const answer = await post(url + path, body);
    expect(answer.json, body).toMatchObject({ status: 422, code: "invalid_request", errors: [{ pointer }] });
  }
  expect((await post(`${url}/numbered`, '{"n":NaN}')).json).toMatchObject({ status: 400, code: "invalid_json" });
  expect((await get("/numbered?n=9223372036854775808")).json.errors).toMatchObject([{ pointer: "/n" }]);
});

test("S17, S18, S24, S25: query refusals have one format and a request id", async () => {
  await post(`${url}/notes`, { key: "refused" });
  const answers = [
    await post(`${url}/numbered`, { nn: 1 }),
    await post(`${url}/note`, "{"),
    await post(`${url}/note`, { key: null }),
    await post(`${url}/note`, { key: "not there" }),
    await post(`${url}/checked`, { key: "refused" }),
    await read(await fetch(`${url}/get/keys`, { method: "PUT" })),
  ];
  expect(answers.map(({ json }) => json.code)).toEqual([
    "invalid_request",
    "invalid_json",
    "invalid_request",
    "row_not_found",
    "function_failed",
    "method_not_allowed",
  ]);
  for (const answer of answers) {
    expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(answer.json).toMatchObject({
      status: answer.status,
      detail: expect.any(String),
      hint: expect.any(String),
      instance: answer.headers.get("x-request-id"),
    });
    expect(answer.text).not.toMatch(/select |unnest|_row|node:|Traceback/i);
    for (const path of [project.home, project.folder]) expect(answer.text).not.toContain(path);
  }
  expect(answers[0]?.json.errors).toMatchObject([{ pointer: "/nn" }]);
  expect(answers[4]?.json).toMatchObject({
    detail: expect.stringMatching(/checked.*said.*helpers:refuse raised PermissionError: not this one/),
    meta: { query: "checked", column: "said", function: "helpers:refuse", type: "PermissionError" },
  });
});

test("behaviour 16: rows, one row, bare values, defaults and URL parameters", async () => {
  for (const key of ["seven a", "seven b"]) await post(`${url}/notes`, { key, n: 7 });
  const both = { rows: [{ key: "seven a" }, { key: "seven b" }] };
  expect((await post(`${url}/numbered`, {})).json).toEqual(both);
  expect((await get("/numbered")).json).toEqual(both);
  expect((await get("/numbered?most=1")).json).toEqual({ rows: [{ key: "seven a" }] });
  expect((await post(`${url}/numbered`, { n: 8 })).json).toEqual({ rows: [] });
  expect((await get("/of_rest?rest=0")).json).toEqual([9]);
  expect((await post(`${url}/one`, { most: 1 })).json).toEqual({ key: "seven a" });
  expect((await post(`${url}/one`, { n: 8 })).json).toMatchObject({ status: 404, code: "row_not_found" });
  expect((await post(`${url}/one`, {})).json).toMatchObject({ status: 409, code: "several_rows", meta: { rows: 2 } });
});

test("behaviours 17 and 20: computing stores nothing and is fully described", async () => {
  const before = await query(project, "select count(*) from notes");
  expect((await post(`${url}/louder`, { key: "not stored" })).json).toEqual({ loud: "NOT STORED" });
  expect(await query(project, "select count(*) from notes")).toEqual(before);

  const { paths, components } = (await read(await fetch(`${url}/openapi.json`))).json;
  const schemaOf = (schema: { $ref?: string }) => components.schemas[schema.$ref?.split("/").pop() ?? ""] ?? schema;
  const taken = schemaOf(paths["/notes"].post.requestBody.content["application/json"].schema.oneOf[0]).properties;
  expect(taken.key.description).toBe("what a note is found by");
  const asked = schemaOf(paths["/numbered"].post.requestBody.content["application/json"].schema);
  expect(asked.properties).toMatchObject({ n: { default: 7 }, most: { default: 10 } });
  expect(asked.required ?? []).toEqual([]);
  expect(paths["/get/numbered"].get.parameters).toMatchObject([
    { in: "query", name: "n", required: false, schema: { default: 7 } },
    { in: "query", name: "most", required: false, schema: { default: 10 } },
    { in: "query", name: "page_size", required: false },
    { in: "query", name: "cursor", required: false },
  ]);
});

test("S15: a recompute counts correctly, supports JSON and reports missing names", async () => {
  const rows = Number((await query(project, "select count(*) from numbers"))[0]?.[0]);
  await query(project, "update numbers set rest = 99");
  const words = ["recompute", "main/numbers", "rest", "--json"];
  expect(JSON.parse((await expectExit(project, 2, ...words, "-n")).stdout)).toMatchObject({ rows, columns: ["rest"] });
  expect(await query(project, "select distinct rest from numbers")).toEqual([["99"]]);
  expect(JSON.parse((await expectExit(project, 0, ...words, "-f")).stdout)).toMatchObject({
    rows_done: rows,
    errors: 0,
  });
  expect(await query(project, "select count(*) from numbers where rest <> rest_py")).toEqual([["0"]]);
  for (const wrong of [
    ["recompute", "main/nope", "-n"],
    ["recompute", "main/numbers", "nope", "-n"],
    ["errors", "main/nope"],
    ["jobs", "cancel", "main", "00000000-0000-0000-0000-000000000000"],
  ]) {
    expect((await expectProblem(project, 1, ...wrong)).detail, wrong.join(" ")).toMatch(/nope|00000000/);
  }
});

test("settings limit results, running rows and statement time by name", async () => {
  await query(
    project,
    `insert into notes (_row, key, n, body) select uuidv7(), 'many ' || i, 1000 + i, repeat('x', 5000)
      from generate_series(1, 60) i`,
  );
  const lock = await hold(project, "lock table notes in access exclusive mode");
  const slow = await Promise.all([post(`${url}/notes`, { key: "late" }), get("/numbered?n=1001")]);
  await lock[Symbol.asyncDispose]();
  for (const [answer, limit] of [
    [await get("/keys"), "result_rows"],
    [await get("/bodies"), "result_bytes"],
    [await get("/sorted_py"), "rows_in_flight"],
    ...slow.map((one) => [one, "statement_timeout_ms"] as const),
  ] as const) {
    const value = LIMITS[limit];
    const { status, code, detail, hint, meta } = answer.json;
    expect({ status, code, limit: meta?.limit, value: meta?.value }).toEqual({
      ...(limit === "statement_timeout_ms"
        ? { status: 504, code: "query_timeout" }
        : { status: 422, code: "result_too_large" }),
      limit,
      value,
    });
    expect(hint).toContain(`SERVICE_${limit.toUpperCase()}`);
    expect(detail).toContain(String(value));
  }
  expect(await query(project, "select count(*) from notes where key = 'late'")).toEqual([["0"]]);
  expect((await get("/numbered?n=1001")).json).toEqual({ rows: [{ key: "many 1" }] });
});
