import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { eventually } from "@appdb/testkit/eventually";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import {
  AFTER,
  environment,
  FUNCTIONS,
  PRINTED,
  program,
  runFile,
  runNotebook,
  startProgram,
} from "./support/programs.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

async function killProgram(project: TestProject, child: ChildProcess, left: number): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
  const folder = join(project.env["SERVICE_HOME"] ?? "", "programs");
  await eventually(async () => expect(readdirSync(folder)).toHaveLength(left), { timeout_ms: 60_000 });
}

test("a function of a started file works until the program is killed", async () => {
  await using project = await makeProject("");
  writeFile(project, "functions.py", FUNCTIONS);
  await expectExit(project, 0, "daemon", "start");
  const child = await startProgram(project, "first", program("first", "?", "main/docs"));
  await killProgram(project, child, 0);
  expect((await runFile(project, "after.py", AFTER)).split("\n")).toEqual([
    "function_missing",
    "No row was inserted: row 1: Column docs.summary: it needs summarize, which is missing: it was defined in a notebook or program that has ended.",
    "Nothing was stored. Move the function into a module of the project, for example functions.py, and run add_computed_column() again with if_exists='replace'.",
    "<inserted 1 row, 1 failed cell>",
    "['a?', 'b?', None] summarize",
    "recompute_failed",
    "['a of a module', 'b of a module', 'd of a module']",
    "",
  ]);
}, 240_000);

/** Its function works on one row until the test has seen it run. */
const FILL = `import os
import time
import appdb as db
SEEN = os.path.abspath("fill.seen")
docs = db.create_table("main/docs", {"id": db.Int}, primary_key="id")
docs.insert([{"id": id} for id in range(50)])

@db.udf
def twice(number: int) -> int:
    while number == 20 and not os.path.exists(SEEN):
        time.sleep(0.05)
    return 2 * number

open("fill.ready", "w").close()
docs.add_computed_column(doubled=twice(docs.id))
`;

test("Ctrl-C says how to see and cancel a fill, which continues without its program", async () => {
  await using project = await makeProject("", { env: { SERVICE_FUNCTION_TIMEOUT_MS: "240000" } });
  await expectExit(project, 0, "daemon", "start");
  const child = await startProgram(project, "fill", FILL, "ignore", "pipe");
  const said = text(child.stderr as Readable);
  const jobs = async () =>
    JSON.parse((await expectExit(project, 0, "jobs", "list", "main", "--all", "--json")).stdout).jobs;
  await eventually(async () => expect(await jobs()).toMatchObject([{ state: "running" }]), { timeout_ms: 60_000 });
  child.kill("SIGINT");
  await once(child, "exit");
  writeFile(project, "fill.seen", "");
  // the program may not know its job yet
  expect(await said).toMatch(
    /add columns main\/docs was not cancelled and (may continue in the database\.\nFind its job and the command that cancels it: cli jobs list main --all|continues in the database\.\nCheck its progress, or cancel it: cli jobs list main --all; cli jobs cancel main \w+)\n/,
  );
  await eventually(async () => expect(await jobs()).toMatchObject([{ state: "done", rows_done: 50, errors: 0 }]), {
    timeout_ms: 120_000,
  });
  const folder = join(project.env["SERVICE_HOME"] ?? "", "programs");
  await eventually(async () => expect(readdirSync(folder)).toEqual([]), { timeout_ms: 60_000 });
}, 240_000);

test("two programs with a function of the same name do not disturb each other", async () => {
  await using project = await makeProject("");
  await expectExit(project, 0, "daemon", "start");
  const [first, second] = await Promise.all([
    startProgram(project, "first", program("first", " 1", "main/docs")),
    startProgram(project, "second", program("second", " 2", "main/others")),
  ]);
  await killProgram(project, first, 1);
  const still = `import appdb as db
others = db.get_table("main/others")
others.insert(id=3, body="c")
print(others.order_by(others.id).collect()["summary"])
`;
  expect(await runFile(project, "still.py", still)).toBe("['a 2', 'b 2', 'c 2']\n");
  await killProgram(project, second, 0);
}, 240_000);

test("the blocks of library.md about functions of a program print what they say", async () => {
  const page = readFileSync(join(ROOT, "docs", "library.md"), "utf8");
  const blocks = [...page.matchAll(/<!-- run: program -->\n```python\n(.*?)```\n```text\n(.*?)```\n/gs)];
  await using project = await makeProject("");
  await expectExit(project, 0, "daemon", "start");
  const script = blocks.map(([, code]) => code).join("\n");
  expect(await runFile(project, "page.py", script)).toBe(blocks.map(([, , output]) => output).join(""));
}, 240_000);

test("a notebook defines, uses and redefines functions", async () => {
  await using project = await makeProject("");
  await expectExit(project, 0, "daemon", "start");
  expect(await runNotebook(project, "main")).toEqual(PRINTED);
}, 240_000);

const SUITE: Readonly<Record<string, string>> = {
  "app.py": `import appdb as db
Base = db.model_base()
@db.udf
def shout(text: str) -> str:
    return text.upper()
class Books(Base, name="books"):
    title: db.String
    loud = shout(title)
`,
  "conftest.py": `import appdb as db
pytest_plugins = ["appdb.testing"]
@db.udf
def of_conftest(text: str) -> str:
    return "conftest " + text
`,
  "tests/test_functions.py": `import appdb as db
from app import Base, Books
@db.udf
def of_test(text: str) -> str:
    return "test " + text
def test_functions(database, request):
    conftest = request.config.pluginmanager.getplugin(str(request.config.rootpath / "conftest.py"))
    database.create_all(Base)
    Books.insert(title="Emma")
    @db.udf
    def inside(text: str) -> str:
        return of_test(text) + "!"
    books = Books.table
    books.add_computed_column(one=of_test(books.loud))
    books.add_computed_column(two=conftest.of_conftest(books.loud))
    books.add_computed_column(three=inside(books.loud))
    Books.insert(title="b")
    row = books.order_by(books.title).collect()[0]
    assert (row["one"], row["two"], row["three"]) == ("test EMMA", "conftest EMMA", "test EMMA!")
    assert books.where(books.title == "b").collect()[0]["three"] == "test B!"
`,
};

test("functions of test modules and conftest work in both import modes", async () => {
  await using project = await makeProject("");
  mkdirSync(join(project.folder, "tests"));
  for (const [name, text] of Object.entries(SUITE)) writeFile(project, name, text);
  await expectExit(project, 0, "daemon", "start");
  const { env, python } = await environment(project);
  for (const mode of ["prepend", "importlib"]) {
    const args = ["-m", "pytest", "-q", `--import-mode=${mode}`];
    const done = await promisify(execFile)(python, args, { cwd: project.folder, env }).catch((error) => error);
    expect(`${done.stdout}${done.stderr}`).toMatch(/\n1 passed in /);
  }
}, 240_000);
