import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "@appdb/testkit/test-project";
import { afterAll, beforeAll, expect, test } from "vitest";
import { editFile, expectExit, expectProblem, makeProject, query, snapshot, writeFile } from "./support/served.ts";

/** How tables change during development: the plan before and the result after. */
const APP = `import appdb as db
from appdb.functions import upper
Base = db.model_base()

@db.udf
def short(text: str) -> str:
    return text[:3]

class Docs(Base, name="docs"):
    code = db.Column(db.String, primary_key=True)
    title: db.String
    n: db.Int | None
    up = upper(title)
    s = short(title)
`;

let project: TestProject;

beforeAll(async () => {
  project = await makeProject(APP);
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  await query(
    project,
    `insert into docs (_row, code, title, n, up, s) select uuidv7(), 'k' || i, 'Title ' || i, nullif(i % 3, 0),
      upper('Title ' || i), 'Tit' from generate_series(1, 30) i`,
  );
});

afterAll(async () => {
  await project[Symbol.asyncDispose]();
});

test("behaviour 11: applies both printed examples without differences", async () => {
  for (const more of [[], ["--brief"]]) {
    const file = `example${more.length}.py`;
    const printed = await expectExit(project, 0, "schema", "example", ...more);
    expect((await expectExit(project, 0, "schema", "example", ...more, "--out", file)).stdout).toContain(
      `wrote ${file}`,
    );
    await expectExit(project, 0, "schema", "check", file);
    await expectExit(project, 0, "schema", "update", file, `example${more.length}`);
    await expectExit(project, 0, "schema", "diff", file, `example${more.length}`);
    const written = JSON.parse((await expectExit(project, 0, "schema", "example", ...more, "--json")).stdout).text;
    expect(printed.stdout.trimEnd()).toBe(written.trimEnd());
  }
});

test("behaviour 9, improved: previews and recomputes a changed expression", async () => {
  editFile(project, "app.py", "up = upper(title)", 'up = title + "!"');
  const before = await snapshot(project);
  for (const command of ["diff", "update"]) {
    const dry = command === "update" ? ["-n"] : [];
    const shown = await expectExit(project, 2, "schema", command, "app.py", "main", ...dry);
    expect(shown.stdout).toContain("30 rows, about");
    expect(shown.stdout).toContain('code = "k1": "TITLE 1" -> "Title 1!"');
  }
  const planned = JSON.parse((await expectExit(project, 2, "schema", "diff", "app.py", "main", "--json")).stdout);
  expect(planned.tables[0].ops[0].details.recompute).toMatchObject({
    rows: 30,
    columns: ["up"],
    samples: { length: 5 },
  });
  expect(await snapshot(project)).toEqual(before);
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  expect(await query(project, "select count(*) from docs where up = title || '!'")).toEqual([["30"]]);
});

test("a changed function is noticed and recomputed only on request", async () => {
  editFile(project, "app.py", "text[:3]", "text[:4]");
  const noticed = await expectExit(project, 0, "schema", "diff", "app.py", "main");
  expect(noticed.stdout).toContain("cli recompute main/docs s");
  const plan = JSON.parse((await expectExit(project, 0, "schema", "diff", "app.py", "main", "--json")).stdout);
  expect(plan).toMatchObject({ in_agreement: true, stale: [{ column: "s", functions: ["app:short"] }] });
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  expect(await query(project, "select distinct s from docs")).toEqual([["Tit"]]);
  await expectExit(project, 0, "schema", "update", "app.py", "main", "--recompute");
  expect(await query(project, "select distinct s from docs")).toEqual([["Titl"]]);
  expect((await expectExit(project, 0, "schema", "diff", "app.py", "main")).stdout).not.toContain("recompute");
});

test("a recompute after an edit runs the current code and clears the stale mark", async () => {
  editFile(project, "app.py", "text[:4]", "text[:5]");
  await expectExit(project, 0, "recompute", "main/docs", "s", "-f");
  expect(await query(project, "select distinct s from docs")).toEqual([["Title"]]);
  const plan = JSON.parse((await expectExit(project, 0, "schema", "diff", "app.py", "main", "--json")).stdout);
  expect(plan).toMatchObject({ in_agreement: true, stale: [] });
  editFile(project, "app.py", "text[:5]", "text[1:5]");
  await expectExit(project, 0, "recompute", "main/docs", "s", "-f", "--app", "app.py");
  expect(await query(project, "select distinct s from docs")).toEqual([["itle"]]);
  expect((await expectExit(project, 0, "schema", "diff", "app.py", "main")).stdout).not.toContain("recompute");
});

test("counts and shows values that do not fit a narrower column", async () => {
  const before = await snapshot(project);
  editFile(project, "app.py", "n: db.Int | None", "n: db.Int");
  expect((await expectExit(project, 2, "schema", "diff", "app.py", "main")).stdout).toContain(
    '10 rows do not fit: no value (code = "k3"; code = "k6"',
  );
  expect((await expectProblem(project, 1, "schema", "update", "app.py", "main")).code).toBe("schema_unsupported");
  expect(await snapshot(project)).toEqual(before);
  await query(project, "update docs set n = 0 where n is null");
  await expectExit(project, 0, "schema", "update", "app.py", "main");
});

test("a declared rename keeps all rows, and its declaration may be removed", async () => {
  editFile(
    project,
    "app.py",
    'class Docs(Base, name="docs"):',
    'class Papers(Base, name="papers", renamed_from="docs"):',
  );
  editFile(project, "app.py", "title: db.String", 'headline = db.Column(db.String, renamed_from="title")');
  editFile(project, "app.py", 'up = title + "!"', 'up = headline + "!"');
  editFile(project, "app.py", "s = short(title)", "s = short(headline)");
  const shown = await expectExit(project, 2, "schema", "diff", "app.py", "main");
  expect(shown.stdout).not.toContain("DESTRUCTIVE");
  await expectExit(project, 0, "schema", "update", "app.py", "main");
  expect(await query(project, "select count(*) from papers where up = headline || '!'")).toEqual([["30"]]);
  await expectExit(project, 0, "schema", "diff", "app.py", "main");
  editFile(project, "app.py", ', renamed_from="title"', "");
  await expectExit(project, 0, "schema", "diff", "app.py", "main");
});

test("another project cannot prune or change a table before taking it over", async () => {
  const other = join(project.folder, "..", "other project");
  mkdirSync(other);
  const app = `import appdb as db
class Other(db.model_base(), name="papers"):
    code = db.Column(db.String, primary_key=True)
    headline: db.String
`;
  writeFileSync(join(other, "app.py"), app);
  writeFileSync(join(other, "service.toml"), "");
  writeFileSync(join(other, "less.py"), app.replace("papers", "others"));
  const typed = (line: string) => project.type(`cd "../other project" && cli ${line}`);
  const pruned = await typed("schema prune less.py main --allow-destructive -f");
  expect(pruned.stdout).toMatch(/left alone {2}main\/papers {2}\(.* belongs to the project .*my project and stays\)/);
  const refused = await typed("schema update app.py main --allow-destructive -f");
  expect(refused.code).toBe(3);
  expect(refused.stderr).toMatch(/main\/papers belongs to the project .*my project/);
  expect(await query(project, "select count(*) from papers")).toEqual([["30"]]);
  const same = readFileSync(join(project.folder, "app.py"), "utf8");
  writeFileSync(join(other, "app.py"), same);
  expect(await typed("schema update app.py main")).toMatchObject({ code: 0 });
  writeFileSync(join(other, "app.py"), same.replace("headline =", "more: db.Int | None\n    headline ="));
  const additive = await typed("schema update app.py main");
  expect(additive.code).toBe(3);
  expect(additive.stderr).toContain("cli schema update app.py main --take-over\n");
  const [[owner] = []] = await query(project, "select project from appdb.tables where name = 'papers'");
  expect(owner).toMatch(/my project$/);
  rmSync(other, { recursive: true });
});

test("a changing command completes when its output is not read", async () => {
  writeFile(project, "unread.py", 'import appdb as db\nclass U(db.model_base(), name="unread"):\n    n: db.Int\n');
  await project.type("cli schema update unread.py main | true");
  await expectExit(project, 0, "schema", "diff", "unread.py", "main");
  await query(project, "drop table unread; delete from appdb.tables where name = 'unread'");
});

test("behaviour 8: prune asks, lists drops and keeps declared tables", async () => {
  writeFile(project, "more.py", 'import appdb as db\nclass M(db.model_base(), name="more"):\n    n: db.Int\n');
  await expectExit(project, 0, "schema", "update", "more.py", "main");
  expect((await expectProblem(project, 3, "schema", "prune", "more.py", "main", "-f")).code).toBe(
    "destructive_refused",
  );
  const allowed = ["schema", "prune", "more.py", "main", "--allow-destructive"];
  expect((await expectProblem(project, 3, ...allowed)).code).toBe("confirmation_required");
  const dry = await expectExit(project, 2, "schema", "prune", "more.py", "main", "-n");
  expect(dry.stdout).toContain("would drop  main/papers  (table 'papers' will be dropped with 30 rows)");
  const planned = JSON.parse(
    (await expectExit(project, 2, "schema", "prune", "more.py", "main", "-n", "--json")).stdout,
  );
  expect(planned).toMatchObject({ status: "skipped", ops: [{ name: "main/papers", op: "drop", status: "skipped" }] });
  await expectExit(project, 0, ...allowed, "-f");
  expect(await query(project, "select name from appdb.tables")).toEqual([["more"]]);
  expect((await expectExit(project, 0, "schema", "prune", "more.py", "main")).stdout).toContain("nothing to prune");
});
