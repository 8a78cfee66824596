import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { editFile, expectExit, makeProject, post, query, serveProject } from "./support/served.ts";

/** A file with every construct of an expression, used by the command. */
const APP = readFileSync(join(ROOT, "python", "tests", "every_construct.py"), "utf8");

let project: TestProject;
let endpoint: string;

beforeAll(async () => {
  project = await makeProject(APP);
  endpoint = await serveProject(project);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

async function diff(): Promise<{ in_agreement: boolean; tables: { ops: unknown[] }[] }> {
  const { stdout } = await expectExit(project, 0, "schema", "diff", "app.py", "main", "--json");
  return JSON.parse(stdout);
}

test("applies a file with every construct once", async () => {
  const plan = await diff();
  expect(plan.in_agreement).toBe(true);
  expect(plan.tables.flatMap((table) => table.ops)).toEqual([]);
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  expect((await diff()).in_agreement).toBe(true);
});

test("arithmetic has Python's signs and division errors, in SQL and Python", async () => {
  const row = {
    n: -7,
    m: 3,
    s: "x",
    c: true,
    t: "2024-01-01T00:00:00Z",
    d: "2024-01-01",
    u: crypto.randomUUID(),
    j: {},
  };
  const stored = await post(`${endpoint}/every`, row);
  expect(stored.status, stored.text).toBe(200);
  // n % m, n // m: computed by SQL; the first is 2, the second -3.
  expect([stored.json.arithmetic_5, stored.json.arithmetic_4]).toEqual([2, -3]);
  // n % 2, n // 2
  expect([stored.json.arithmetic_12, stored.json.arithmetic_11]).toEqual([1, -4]);

  const failing = await post(`${endpoint}/every`, { ...row, n: 0, m: 0 });
  expect(failing.status, failing.text).toBe(200);
  const errors = await query(
    project,
    `select _errors->'arithmetic_3'->>'type', _errors->'arithmetic_4'->>'message', _errors->'arithmetic_5'->>'type',
       failed, told, is_failed from every where n = 0`,
  );
  const message = "integer division or modulo by zero";
  expect(errors).toEqual([
    ["ZeroDivisionError", message, "ZeroDivisionError", "ZeroDivisionError", `ZeroDivisionError: ${message}`, true],
  ]);
  expect(failing.json).toMatchObject({ arithmetic_3: null, risk: null, is_failed: true });
});

test("a changed constant is a difference, a changed order of keys is not", async () => {
  editFile(project, "app.py", '{"t": t, "d": d, "u": u', '{"u": u, "d": d, "t": t');
  expect((await diff()).in_agreement).toBe(true);
  editFile(project, "app.py", "[1, s, {", "[2, s, {");
  await expectExit(project, 2, "schema", "diff", "app.py", "main");
});
