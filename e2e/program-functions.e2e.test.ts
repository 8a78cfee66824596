import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "@appdb/testkit/eventually";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { ensurePythonTools } from "./support/python-tools.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

/** A program with a function of its own, which then waits to be killed. The file says when it is ready. */
const program = (name: string, mark: string, table: string) => `
import sys
import time

import appdb as db

MARK = "${mark}"


def marked(text):
    return text + MARK


@db.udf
def summarize(body: str) -> str:
    return marked(body)


docs = db.create_table("main/${table}", {"id": db.Int, "body": db.String}, primary_key="id", if_exists="replace")
docs.insert(id=1, body="a")
docs.add_computed_column(summary=summarize(docs.body))
docs.insert(id=2, body="b")
assert docs.order_by(docs.id).collect()["summary"] == ["a" + MARK, "b" + MARK]
assert docs.where(docs.id == 1).select(x=summarize(docs.body + "!")).collect()["x"] == ["a!" + MARK]
open("${name}.ready", "w").close()
time.sleep(600)
`;

const AFTER = `
import appdb as db

docs = db.get_table("main/docs")
try:
    docs.insert(id=3, body="c")
except db.Error as error:
    print(error.code, error.detail, error.hint, sep="\\n")
print(docs.insert(id=4, body="d", on_error="ignore"))
print(docs.order_by(docs.id).collect()["summary"], docs.errors()[0]["function"])
try:
    docs.recompute_columns("summary")
except db.Error as error:
    print(error.code)
from functions import summarize

docs.add_computed_column(summary=summarize(docs.body), if_exists="replace")
print(docs.order_by(docs.id).collect()["summary"])
`;
const FUNCTIONS = `import appdb as db


@db.udf
def summarize(body: str) -> str:
    return body + " of a module"
`;

async function environment(project: TestProject): Promise<{ python: string; env: NodeJS.ProcessEnv }> {
  const python = join(await ensurePythonTools("library"), "python");
  const own = { PYTHONPATH: join(ROOT, "python"), PYTHONDONTWRITEBYTECODE: "1" };
  return { python, env: { ...process.env, ...project.env, ...own } };
}

async function runFile(project: TestProject, name: string, text: string): Promise<string> {
  writeFile(project, name, text);
  const { env, python } = await environment(project);
  const { stdout } = await promisify(execFile)(python, [name], { cwd: project.folder, env });
  return stdout;
}

/** Starts a program and waits until its file says that it is ready. */
async function startProgram(project: TestProject, name: string, text: string): Promise<ChildProcess> {
  writeFile(project, `${name}.py`, text);
  const { env, python } = await environment(project);
  const child = spawn(python, [`${name}.py`], { cwd: project.folder, env, stdio: ["ignore", "ignore", "inherit"] });
  await eventually(
    async () => {
      if (child.exitCode !== null) throw new Error(`${name}.py ended with ${child.exitCode}`);
      expect(existsSync(join(project.folder, `${name}.ready`))).toBe(true);
    },
    { timeout_ms: 60_000 },
  );
  return child;
}

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
  const child = await startProgram(project, "first", program("first", "?", "docs"));
  await killProgram(project, child, 0);
  expect((await runFile(project, "after.py", AFTER)).split("\n")).toEqual([
    "function_missing",
    "No row was inserted: row 1: Column docs.summary: it needs summarize, which is missing: it was defined in a notebook or program that has ended.",
    "Nothing was stored. Move the function into a module of the project, for example functions.py, and run add_computed_column() again with if_exists='replace'.",
    "<inserted 1 row, 1 failed cells>",
    "['a?', 'b?', None] summarize",
    "recompute_failed",
    "['a of a module', 'b of a module', 'd of a module']",
    "",
  ]);
}, 240_000);

test("two programs with a function of the same name do not disturb each other", async () => {
  await using project = await makeProject("");
  await expectExit(project, 0, "daemon", "start");
  const [first, second] = await Promise.all([
    startProgram(project, "first", program("first", " 1", "docs")),
    startProgram(project, "second", program("second", " 2", "others")),
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

const CELLS = [
  `import appdb as db
docs = db.create_table("main/docs", {"body": db.String}, if_exists="replace")
docs.insert([{"body": "Emma"}, {"body": "Ulysses"}])
LONG = 5`,
  `@db.udf
def summarize(body: str) -> str:
    return body[:LONG]
docs.add_computed_column(summary=summarize(docs.body))
print(docs.collect()["summary"])`,
  `LONG = 2
print(docs.select(x=summarize(docs.body)).collect()["x"])`,
  `@db.udf
async def summarize(body: str) -> str:
    return body.upper()
docs.add_computed_column(summary=summarize(docs.body), if_exists="replace")
docs.insert(body="new")
print(docs.collect()["summary"])`,
  `docs.add_computed_column(turned=docs.body.apply(lambda text: text[::-1], db.String))
print(docs.collect()["turned"])`,
];
const RUN_CELLS = `import json

import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(cell) for cell in json.load(open("cells.json"))]
book = nbformat.v4.new_notebook(cells=cells)
NotebookClient(book, timeout=120, kernel_name="python3").execute()
print("".join(o.text for c in book.cells for o in c.outputs if o.get("name") == "stdout"), end="")
`;

test("a notebook defines, uses and redefines functions", async () => {
  await using project = await makeProject("");
  await expectExit(project, 0, "daemon", "start");
  const places = ["JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"];
  for (const name of places) project.env[name] = join(project.folder, name.toLowerCase());
  writeFile(project, "cells.json", JSON.stringify(CELLS));
  expect((await runFile(project, "run_cells.py", RUN_CELLS)).split("\n")).toEqual([
    "['Emma', 'Ulyss']",
    "['Em', 'Ul']",
    "['EMMA', 'ULYSSES', 'NEW']",
    "['ammE', 'sessylU', 'wen']",
    "",
  ]);
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

test("a hosted database refuses functions of a program", async () => {
  await using project = await makeProject("");
  await startWithAcme(project);
  const text = `import appdb as db
docs = db.create_table("cloud://acme:main/docs", {"body": db.String})
@db.udf
def summarize(body: str) -> str:
    return body
for call in (lambda: docs.add_computed_column(x=summarize(docs.body)), docs.select(x=summarize(docs.body)).collect):
    try:
        call()
    except db.Error as error:
        print(error.code, error.detail, error.hint, sep="\\n")
`;
  const refusal = [
    "function_missing",
    "summarize is defined in this program. A hosted database runs functions of its project files only.",
    "Move it into a module of the project, for example functions.py, and run: cli db update",
  ];
  expect((await runFile(project, "hosted.py", text)).split("\n")).toEqual([...refusal, ...refusal, ""]);
}, 240_000);
