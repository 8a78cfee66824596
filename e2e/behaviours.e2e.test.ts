import { once } from "node:events";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  editFile,
  expectExit,
  expectProblem,
  hold,
  listServices,
  makeProject,
  post,
  query,
  snapshot,
  writeFile,
} from "./support/served.ts";

/**
 * How an application changes during development. The numbers refer to a list of behaviours of other products; tests of
 * other files have the remaining numbers. Our differences: 3, a service continues with the columns that it knows and is
 * not refused; 6, a type may change where no value is lost; 9, the update recomputes a changed expression; 12, an error
 * has code, detail and hint; 14, an existing key is 409; 21, an additional output is not destructive.
 */
const APP = `import appdb as db
from appdb.functions import upper, uuid7
from appdb.serving import Router

class Docs(db.model_base(), name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    body: db.String | None
    title_upper = upper(title)

api = Router()
api.add_insert_route(Docs, path="/docs", outputs=["title", "title_upper"])
`;
const BODY = "    body: db.String | None\n";
const AUTHOR = "    author: db.String | None\n";
const UPDATE = ["schema", "update", "app.py", "main"];
const DIFF = ["schema", "diff", "app.py", "main"];

let project: TestProject;

beforeAll(async () => {
  project = await makeProject(APP);
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

async function planOf(exit: number): Promise<{ tables: { ops: { name: string }[] }[] } & Record<string, unknown>> {
  return JSON.parse((await expectExit(project, exit, ...DIFF, "--json")).stdout);
}

test("behaviours 1 and 2: a plan creates nothing, an update creates once", async () => {
  expect(await planOf(2)).toMatchObject({
    tables: [{ path: "main/docs", resolution: "create", ops: [] }],
    summary: { create: 1 },
  });
  expect(await query(project, "select count(*) from pg_database where datname = 'main'", "postgres")).toEqual([["0"]]);
  expect((await expectExit(project, 0, ...UPDATE)).stdout).toMatch(/created +main\/docs/);
  expect((await expectExit(project, 0, ...UPDATE)).stdout).toContain("up to date");
  expect(await planOf(0)).toMatchObject({ in_agreement: true });
});

test("behaviours 13 and 21: a service is planned, starts once and follows its tables", async () => {
  const shown = await expectExit(project, 3, "service", "update", "app.py", "main");
  expect(shown.stdout).toContain("api");
  expect(await listServices(project)).toEqual([]);
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  const [started] = await listServices(project);
  expect((await post(`${started?.endpoint}/docs`, { title: "first", body: "old" })).json).toEqual({
    title: "first",
    title_upper: "FIRST",
  });
  await expectExit(project, 0, "service", "update", "app.py", "main");
  expect((await listServices(project))[0]?.pid).toBe(started?.pid);

  writeFile(
    project,
    "more.py",
    APP.replaceAll('"docs"', '"others"').replace("api = Router()", "others = Router()").replace("api.", "others."),
  );
  const blocked = await expectExit(project, 1, "service", "update", "more.py", "main", "-f");
  expect(blocked.stdout + blocked.stderr).toContain("cli schema update more.py main");
  expect(await listServices(project)).toHaveLength(1);
});

test("behaviour 3, improved: a nullable column needs no flag or restart", async () => {
  editFile(project, "app.py", BODY, BODY + AUTHOR);
  editFile(project, "app.py", '"title_upper"]', '"title_upper", "author"]');
  await expectExit(project, 0, ...UPDATE);
  expect(await query(project, "select author from docs")).toEqual([[null]]);
  const [running] = await listServices(project);
  const former = await post(`${running?.endpoint}/docs`, { title: "second" });
  expect([former.status, former.json]).toEqual([200, { title: "second", title_upper: "SECOND" }]);
  expect((await post(`${running?.endpoint}/docs`, { title: "x", author: "y" })).status).toBe(422);
  await expectExit(project, 0, "service", "update", "app.py", "main", "-f");
  const [updated] = await listServices(project);
  expect(updated?.port).toBe(running?.port);
  expect((await post(`${updated?.endpoint}/docs`, { title: "third", author: "me" })).json).toMatchObject({
    author: "me",
  });
});

test("behaviour 4: replacing a column is an addition and a destruction", async () => {
  editFile(project, "app.py", BODY, "");
  editFile(project, "app.py", AUTHOR, `${AUTHOR}    pages: db.Int | None\n`);
  const plan = await planOf(2);
  expect(plan.tables).toMatchObject([{ resolution: "update_destructive" }]);
  const ops = [...(plan.tables[0]?.ops ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  expect(ops).toMatchObject([
    { name: "body", op: "drop", destructive: true },
    { name: "pages", op: "add", destructive: false, details: { type: "Int | None" } },
  ]);
  const { stdout } = await expectExit(project, 2, ...DIFF);
  expect(stdout).toMatch(/\+ column 'pages' will be added/);
  expect(stdout).toMatch(/- column 'body' will be dropped with all its values {2}\[DESTRUCTIVE\]/);
});

test("behaviour 5: destructive changes need the flag and an answer", async () => {
  const before = await snapshot(project);
  expect((await expectProblem(project, 3, ...UPDATE)).code).toBe("destructive_refused");
  expect((await expectProblem(project, 3, ...UPDATE, "--allow-destructive")).code).toBe("confirmation_required");
  const dry = await expectExit(project, 2, ...UPDATE, "-n", "--allow-destructive", "-f", "--json");
  expect(JSON.parse(dry.stdout)).toMatchObject({ status: "skipped" });
  expect(await snapshot(project)).toEqual(before);
  await expectExit(project, 0, ...UPDATE, "--allow-destructive", "-f");
  expect((await expectExit(project, 0, ...UPDATE)).stdout).toContain("up to date");
});

test("behaviour 6: refuses a type that would lose values", async () => {
  editFile(project, "app.py", AUTHOR, "    author: db.Int | None\n");
  expect((await expectExit(project, 2, ...DIFF)).stdout).toContain("[UNSUPPORTED]");
  expect((await expectProblem(project, 1, ...UPDATE)).code).toBe("schema_unsupported");
  editFile(project, "app.py", "    author: db.Int | None\n", AUTHOR);
});

test("behaviour 7: an undeclared table is listed without being a difference", async () => {
  await expectExit(project, 0, "schema", "update", "more.py", "main");
  expect(await planOf(0)).toMatchObject({ in_agreement: true, extras: ["main/others"] });
});

test("of two concurrent updates one wins and the other changes nothing", async () => {
  const columns = ["left_side", "right_side", "middle"];
  for (const name of columns) {
    writeFile(
      project,
      `${name}.py`,
      APP.replace(BODY, `${AUTHOR}    pages: db.Int | None\n    ${name}: db.Int | None\n`),
    );
  }
  // An update waits for the catalog's lock; all three have printed their plans before it is released.
  const lock = await hold(project, "select from appdb.state for update");
  const started = columns.map((name) => project.start(`cli schema update ${name}.py main`));
  const ended = started.map(({ child }) => once(child, "close"));
  await eventually(async () => {
    for (const [at, name] of columns.entries())
      expect(started[at]?.output()).toContain(`column '${name}' will be added`);
  });
  await lock[Symbol.asyncDispose]();
  await Promise.all(ended);
  const winner = started.findIndex(({ child }) => child.exitCode === 0);
  expect(started.map(({ child }) => child.exitCode).sort()).toEqual([0, 1, 1]);
  for (const [at, one] of started.entries()) {
    if (at === winner) continue;
    expect(one.output()).toMatch(
      /error: .*since the plan was made\. .*This update changed nothing\.\nhint: .*cli schema diff/,
    );
    expect(one.output()).toContain(`main/docs: column '${columns[winner]}' was added.`);
  }
  const there = await query(project, "select column_name from information_schema.columns where table_name = 'docs'");
  expect(columns.filter((name) => there.flat().includes(name))).toEqual([columns[winner]]);
});
