import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectExit, expectProblem, makeProject, query, snapshot, writeFile } from "./support/served.ts";

/** Known problems of other products, by number: plans, checks and tables. */
const HEAD = `import appdb as db
from appdb.functions import upper
from appdb.serving import Router
Base = db.model_base()
`;
const APP = `${HEAD}
class Docs(Base, name="docs"):
    title: db.String
    body: db.String | None
    flag: db.Bool | None
`;
const QUERY = "\n@db.query\ndef titled(title: str):\n    return Docs.where(Docs.title == title)\n";
const [FLAG, BODY] = ["    flag: db.Bool | None\n", "    body: db.String | None\n"];

let project: TestProject;

beforeAll(async () => {
  project = await makeProject(APP);
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  await query(project, "insert into docs (_row, title, body) values (gen_random_uuid(), 'a', 'b')");
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

test("S6: valid files are applied and invalid ones refused by check and update", async () => {
  const before = await snapshot(project);
  const columns = ["insert", "select", "table", "order", "user", "count", "id", "name"];
  const odd = `${HEAD}\nclass Odd(Base, name="order"):\n${columns.map((name) => `    ${name}: db.Int | None\n`).join("")}`;
  writeFile(project, "odd.py", odd);
  await expectExit(project, 0, "schema", "check", "odd.py");
  await expectExit(project, 0, "schema", "update", "odd.py", "main");
  expect(
    await query(
      project,
      `select column_name from information_schema.columns where table_name = 'order' and column_name !~ '^_' order by ordinal_position`,
    ),
  ).toEqual(columns.map((name) => [name]));
  const applied = await snapshot(project);
  expect(applied).not.toEqual(before);

  for (const [wrong, said] of [
    ["class B(Base, name='b'):\n    up = upper(other)\n", /'other'/],
    ["x = Router()\ny = Router(name='x')\n", /Two services/],
    ["class B(Base, name='order'):\n    n: db.Int\n", /Two models/],
  ] as const) {
    writeFile(project, "odd.py", `${odd}\nclass Extra(Base, name="extra"):\n    n: db.Int\n${wrong}`);
    const checked = await expectProblem(project, 1, "schema", "check", "odd.py");
    expect(checked.detail).toMatch(said);
    expect((await expectProblem(project, 1, "schema", "update", "odd.py", "main")).detail).toBe(checked.detail);
    expect(await snapshot(project)).toEqual(applied);
  }
});

test("S15: dry runs support --json, exit with 2 for changes and create nothing", async () => {
  const before = await snapshot(project);
  writeFile(project, "more.py", `${HEAD}\nclass More(Base, name="more"):\n    n: db.Int\n`);
  const dry = await expectExit(project, 2, "schema", "update", "more.py", "elsewhere", "--dry-run", "--json");
  expect(JSON.parse(dry.stdout)).toMatchObject({ in_agreement: false, status: "skipped", summary: { create: 1 } });
  await expectExit(project, 0, "schema", "update", "app.py", "main", "--dry-run");
  expect(await snapshot(project)).toEqual(before);
});

test("S20: check refuses a route that could never work", async () => {
  const wrong: readonly [route: string, said: RegExp][] = [
    ["r.add_insert_route(Docs, path='docs')", /'\/docs'/],
    ["r.add_insert_route(Docs, path='/docs', method='put')", /method/],
    ["r.add_insert_route(Docs, path='/docs', inputs=['title', 'nope'])", /'nope'/],
    ["r.add_insert_route(Docs, path='/docs', outputs=['nope'])", /'nope'/],
    ["r.add_insert_route(Docs, path='/docs', inputs=['body'])", /'title'/],
    ["r.add_insert_route(Docs, path='/health')", /\/health/],
    ["r.add_insert_route(Docs, path='/x'); r.add_compute_route(Docs, path='/x')", /\/x/],
    ["r.add_query_route(path='/q', query=titled, inputs=['nope'])", /'nope'/],
    ["r.add_query_route(path='/q', query=titled, method='put')", /method/],
  ];
  for (const [route, said] of wrong) {
    writeFile(project, "routes.py", `${APP}${QUERY}\nr = Router()\n${route}\n`);
    const problem = await expectProblem(project, 1, "service", "check", "routes.py");
    expect(problem.code, route).toBe("app_invalid");
    expect(`${problem.detail} ${problem.hint}`, route).toMatch(said);
  }
});

test("S21: reports unsupported changes first, and every hint leads on", async () => {
  const before = await snapshot(project);
  writeFile(project, "app.py", APP.replace(BODY, "").replace(FLAG, "    flag: db.Int | None\n"));
  for (const more of [[], ["--allow-destructive", "-f"]]) {
    const ran = await expectExit(project, 1, "schema", "update", "app.py", "main", ...more);
    expect(ran.stdout).toContain("[DESTRUCTIVE]");
    expect(ran.stdout).toContain("[UNSUPPORTED]");
    expect(ran.stderr).toContain("column 'flag'");
    expect(ran.stderr).not.toContain("--allow-destructive");
  }
  // Without the unsupported part, each hint leads to the next step.
  writeFile(project, "app.py", APP.replace(BODY, ""));
  expect(await snapshot(project)).toEqual(before);
  let command = "cli schema update app.py main";
  // Without a terminal, one refusal names all that the next command needs.
  const refused = await project.type(command);
  expect(refused.code, refused.stderr).toBe(3);
  command = /^hint: .*?(cli .*)$/m.exec(refused.stderr)?.[1] ?? "";
  expect(command).toBe("cli schema update app.py main --allow-destructive -f");
  expect((await project.type(command)).code).toBe(0);
  expect(await query(project, "select title from docs")).toEqual([["a"]]);
});

test("S23: an update prints the plan of the state after it", async () => {
  const planned = JSON.parse((await expectExit(project, 2, "schema", "diff", "more.py", "main", "--json")).stdout);
  expect(planned).toMatchObject({ in_agreement: false, status: null, tables: [{ exists: false, status: null }] });
  const applied = JSON.parse((await expectExit(project, 0, "schema", "update", "more.py", "main", "--json")).stdout);
  expect(applied).toMatchObject({
    in_agreement: true,
    status: "applied",
    tables: [{ exists: true, status: "applied" }],
  });
  const again = JSON.parse((await expectExit(project, 0, "schema", "diff", "more.py", "main", "--json")).stdout);
  expect(again).toMatchObject({ in_agreement: true, summary: { create: 0, up_to_date: 1 } });
});
