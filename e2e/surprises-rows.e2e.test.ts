import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  editFile,
  expectExit,
  expectProblem,
  makeProject,
  post,
  query,
  read,
  serveProject,
  writeFile,
} from "./support/served.ts";

/** Known problems of other products, by number: rows and requests. */
const APP = `
import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router
from helpers import refuse, same

class Numbers(db.model_base(), name="numbers"):
    id = db.Column(value=uuid7(), primary_key=True)
    a: db.Int
    b: db.Int
    # computed inside PostgreSQL ...
    rest = a % 3
    whole = a // b
    ratio = a / b
    # ... and the same in Python, because a function stands in it
    rest_py = same(a) % 3
    whole_py = same(a) // b
    ratio_py = same(a) / b

class Notes(db.model_base(), name="notes"):
    key = db.Column(type=db.String, primary_key=True)
    n: db.Int | None
    doc: db.Json | None
    checked = refuse(key)

api = Router()
OUT = ["rest", "rest_py", "whole", "whole_py", "ratio", "ratio_py"]
api.add_insert_route(Numbers, path="/numbers", inputs=["a", "b"], outputs=OUT)
api.add_compute_route(Numbers, path="/compute", inputs=["a", "b"], outputs=OUT)
api.add_insert_route(Notes, path="/notes")
api.add_compute_route(Notes, path="/checks", inputs=["key"], outputs=["checked"])
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

let project: TestProject;
let url: string;

beforeAll(async () => {
  project = await makeProject(APP);
  writeFile(project, "helpers.py", HELPERS);
  url = await serveProject(project);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

async function count(table: string): Promise<number> {
  return Number((await query(project, `select count(*) from ${table}`))[0]?.[0]);
}

test("S2: an insert whose function raises stores nothing, on both routes", async () => {
  const before = await count("notes");
  const inserted = await post(`${url}/notes`, { key: "refused" });
  const computed = await post(`${url}/checks`, { key: "refused" });
  for (const answer of [inserted, computed]) {
    expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(answer.json).toMatchObject({ status: 400, code: "function_failed" });
  }
  expect(await count("notes")).toBe(before);
});

test("S3: long keys that differ in the last character are two rows", async () => {
  const long = "k".repeat(4_999);
  for (const last of ["a", "b"]) expect((await post(`${url}/notes`, { key: long + last, n: 1 })).status).toBe(200);
  const again = await post(`${url}/notes`, { key: `${long}b`, n: 2 });
  expect(again.json).toMatchObject({ status: 409, code: "unique_violation" });
  expect(again.text.length).toBeLessThan(2_000);
  expect(await query(project, `select right(key, 1), n from notes where length(key) = 5000 order by key`)).toEqual([
    ["a", "1"],
    ["b", "1"],
  ]);
});

test("S4: keeps numbers and text exactly or refuses them by field", async () => {
  const doc = '{"z":1.50,"big":12345678901234567890,"a":[null,"€😀"]}';
  for (const [key, n] of [
    ["least", "-9223372036854775808"],
    ["most", "9223372036854775807"],
  ]) {
    const answer = await post(`${url}/notes`, `{"key":"${key}","n":${n},"doc":${doc}}`);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.text).toContain(`"n":${n},"doc":${doc}`);
    expect(await query(project, `select n::text, doc::text from notes where key = '${key}'`)).toEqual([[n, doc]]);
  }
  const before = await count("notes");
  for (const [body, pointer] of [
    ['{"key":"x","n":9223372036854775808}', "/n"],
    ['{"key":"x","doc":{"a":1e400}}', "/doc"],
    ['{"key":"x\\ud83d"}', "/key"],
    ['{"key":"x\\u0000"}', "/key"],
  ] as const) {
    const answer = await post(`${url}/notes`, body);
    expect(answer.json).toMatchObject({ status: 422, code: "invalid_request", errors: [{ pointer }] });
  }
  expect((await post(`${url}/notes`, '{"key":"x","doc":{"a":NaN}}')).json).toMatchObject({ code: "invalid_json" });
  expect(await count("notes")).toBe(before);
});

test("S5: an expression has equal values in SQL, Python, columns and fills", async () => {
  for (const [a, b, rest, whole, ratio] of [
    [-7, 2, 2, -4, -3.5],
    [7, -2, 1, -4, -3.5],
    [-6, 3, 0, -2, -2],
    [1, 3, 1, 0, 1 / 3],
  ]) {
    const wanted = { rest, rest_py: rest, whole, whole_py: whole, ratio, ratio_py: ratio };
    expect((await post(`${url}/numbers`, { a, b })).json).toEqual(wanted);
    expect((await post(`${url}/compute`, { a, b })).json).toEqual(wanted);
  }
  const before = await count("numbers");
  for (const path of ["/numbers", "/compute"]) {
    const answer = await post(url + path, { a: 1, b: 0 });
    expect(answer.json).toMatchObject({ status: 400, code: "function_failed", meta: { type: "ZeroDivisionError" } });
  }
  expect(await count("numbers")).toBe(before);

  editFile(
    project,
    "app.py",
    "    # ... and the same",
    "    later = a % 3\n    later_whole = a // b\n    # ... and the same",
  );
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  expect(await query(project, "select count(*) from numbers where later <> rest or later_whole <> whole_py")).toEqual([
    ["0"],
  ]);
  // A fill that meets a row on which the expression fails names it and removes the column.
  editFile(project, "app.py", "    later_whole = a // b\n", "    later_whole = a // b\n    bad = a / (b - 2)\n");
  const failed = await expectProblem(project, 1, "schema", "update", "app.py", "main");
  expect(failed).toMatchObject({
    code: "fill_failed",
    detail: expect.stringMatching(/numbers\.bad: a \/ \(b - 2\) failed with ZeroDivisionError.*for the row id = /),
  });
  editFile(project, "app.py", "    bad = a / (b - 2)\n", "");
  await expectExit(project, 0, "schema", "diff", "app.py", "main");
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
});

test("S7: a missing module affects no other file, and its column can be dropped", async () => {
  mkdirSync(join(project.folder, "moved"));
  writeFile(project, "moved/tools.py", "import appdb as db\n\n@db.udf\ndef twice(n: int) -> int:\n    return 2 * n\n");
  const moved = (column: string) =>
    `import appdb as db\n${column === "" ? "" : "from moved.tools import twice\n"}\nclass Gone(db.model_base(), name="gone"):\n    n: db.Int\n${column}`;
  writeFile(project, "gone.py", moved("    double = twice(n)\n"));
  await expectExit(project, 0, "schema", "update", "gone.py", "main");
  await query(project, "insert into gone (_row, n, double) values (gen_random_uuid(), 4, 8)");
  rmSync(join(project.folder, "moved"), { recursive: true });

  expect(await expectProblem(project, 1, "schema", "diff", "gone.py", "main")).toMatchObject({
    code: "app_invalid",
    detail: expect.stringContaining("moved"),
  });
  await expectExit(project, 0, "schema", "diff", "app.py", "main");
  for (const verb of ["service list", "errors", "jobs list"]) await expectExit(project, 0, ...verb.split(" "), "main");
  const prune = await expectExit(project, 2, "schema", "prune", "app.py", "main", "-n");
  expect(prune.stdout).toContain("would drop  main/gone");
  expect((await post(`${url}/numbers`, { a: 1, b: 1 })).status).toBe(200);
  writeFile(project, "gone.py", moved(""));
  await expectExit(project, 0, "schema", "update", "gone.py", "main", "--allow-destructive", "-f");
  expect(await query(project, "select n from gone")).toEqual([["4"]]);
});

test("S17, S24: every refusal has one format, its own code and no internals", async () => {
  await post(`${url}/notes`, { key: "there" });
  const answers = [
    await post(`${url}/notes`, "{"),
    await post(`${url}/notes`, { key: 5 }),
    await post(`${url}/notes`, { key: "there" }),
    await post(`${url}/notes`, { key: "refused" }),
    await post(`${url}/nowhere`, {}),
    await read(await fetch(`${url}/notes`, { method: "PUT" })),
  ];
  expect(answers.map((answer) => answer.json.code)).toEqual([
    "invalid_json",
    "invalid_request",
    "unique_violation",
    "function_failed",
    "not_found",
    "method_not_allowed",
  ]);
  for (const answer of answers) {
    expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(answer.json).toMatchObject({
      type: expect.stringMatching(new RegExp(`:${answer.json.code}$`)),
      title: expect.any(String),
      status: answer.status,
      detail: expect.any(String),
      hint: expect.any(String),
    });
    expect(answer.text).not.toMatch(/select |insert into|unnest|_row|node:|Traceback/i);
    for (const path of [project.home, project.folder]) expect(answer.text).not.toContain(path);
  }
  expect(answers[3]?.json.meta).toMatchObject({
    table: "notes",
    column: "checked",
    function: "helpers:refuse",
    type: "PermissionError",
  });
});

test("S18: a misspelled field is refused, not ignored", async () => {
  const before = await count("notes");
  const answer = await post(`${url}/notes`, { key: "misspelt", dok: {} });
  expect(answer.json).toMatchObject({
    status: 422,
    errors: [{ pointer: "/dok", detail: expect.stringContaining('"doc"') }],
  });
  expect(await count("notes")).toBe(before);
});

test("S10, S25: each answer has a logged request id, and local pages may call", async () => {
  const own = await post(`${url}/notes`, { key: 5 }, { "x-request-id": "look-for-me-1" });
  expect(own.headers.get("x-request-id")).toBe("look-for-me-1");
  expect(own.json.instance).toBe("look-for-me-1");
  const raised = await post(`${url}/notes`, { key: "refused" });
  // the log may have an answer a moment after its client
  await eventually(async () => {
    const log = (await expectExit(project, 0, "service", "logs", "main/api", "--tail", "500")).stdout;
    expect(log).toContain("look-for-me-1");
    expect(log.split("\n").find((line) => line.includes(raised.json.instance))).toMatch(/PermissionError.*helpers\.py/);
  });
  expect((await post(`${url}/checks`, { key: "fine" })).headers.get("x-request-id")).toMatch(/^[\w-]+$/);

  const origin = "http://localhost:5173";
  const asked = await fetch(`${url}/notes`, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type" },
  });
  expect(asked.status).toBe(204);
  expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
  expect(asked.headers.get("access-control-allow-headers")).toContain("content-type");
  expect((await post(`${url}/checks`, { key: "fine" }, { origin })).headers.get("access-control-allow-origin")).toBe(
    origin,
  );
});
