import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "@appdb/testkit/eventually";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";
import { ensurePythonTools } from "./python-tools.ts";
import { writeFile } from "./served.ts";

/** A program with a function of its own, which then waits to be killed. The file says when it is ready. */
export const program = (name: string, mark: string, table: string) => `
import sys
import time

import appdb as db

MARK = "${mark}"


def marked(text):
    return text + MARK


@db.udf
def summarize(body: str) -> str:
    return marked(body)


docs = db.create_table("${table}", {"id": db.Int, "body": db.String}, primary_key="id", if_exists="replace")
docs.insert(id=1, body="a")
docs.add_computed_column(summary=summarize(docs.body))
docs.insert(id=2, body="b")
assert docs.order_by(docs.id).collect()["summary"] == ["a" + MARK, "b" + MARK]
assert docs.where(docs.id == 1).select(x=summarize(docs.body + "!")).collect()["x"] == ["a!" + MARK]
open("${name}.ready", "w").close()
time.sleep(600)
`;

/** What someone sees after the program with `main/docs` has ended, and does then. */
export const AFTER = `
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
export const FUNCTIONS = `import appdb as db


@db.udf
def summarize(body: str) -> str:
    return body + " of a module"
`;

export async function environment(project: TestProject): Promise<{ python: string; env: NodeJS.ProcessEnv }> {
  const python = join(await ensurePythonTools("library"), "python");
  const own = { PYTHONPATH: join(ROOT, "python") };
  return { python, env: { ...process.env, ...project.env, ...own } };
}

export async function runFile(project: TestProject, name: string, text: string): Promise<string> {
  writeFile(project, name, text);
  const { env, python } = await environment(project);
  const { stdout } = await promisify(execFile)(python, [name], { cwd: project.folder, env });
  return stdout;
}

/** Starts a program and waits until its file says that it is ready. */
export async function startProgram(
  project: TestProject,
  name: string,
  text: string,
  output: "ignore" | "pipe" = "ignore",
  errors: "inherit" | "pipe" = "inherit",
): Promise<ChildProcess> {
  writeFile(project, `${name}.py`, text);
  const { env, python } = await environment(project);
  const child = spawn(python, [`${name}.py`], { cwd: project.folder, env, stdio: ["ignore", output, errors] });
  await eventually(
    async () => {
      if (child.exitCode !== null) throw new Error(`${name}.py ended with ${child.exitCode}`);
      expect(existsSync(join(project.folder, `${name}.ready`))).toBe(true);
    },
    { timeout_ms: 60_000 },
  );
  return child;
}

const CELLS: readonly string[] = [
  `import appdb as db
docs = db.create_table("main/docs", {"body": db.String}, if_exists="replace")
docs.insert([{"body": "Emma"}, {"body": "Ulysses"}])
LONG = 5`,
  `@db.udf
def summarize(body: str) -> str:
    return body[:LONG]
docs.add_computed_column(summary=summarize(docs.body))
print(docs.order_by(docs.body).collect()["summary"])`,
  `LONG = 2
print(docs.order_by(docs.body).select(x=summarize(docs.body)).collect()["x"])`,
  `@db.udf
async def summarize(body: str) -> str:
    return body.upper()
docs.add_computed_column(summary=summarize(docs.body), if_exists="replace")
docs.insert(body="new")
print(docs.order_by(docs.body).collect()["summary"])`,
  `docs.add_computed_column(turned=docs.body.apply(lambda text: text[::-1], db.String))
print(docs.order_by(docs.body).collect()["turned"])`,
];
const RUN_CELLS = `import json

import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(cell) for cell in json.load(open("cells.json"))]
book = nbformat.v4.new_notebook(cells=cells)
NotebookClient(book, timeout=120, kernel_name="python3").execute()
print("".join(o.text for c in book.cells for o in c.outputs if o.get("name") == "stdout"), end="")
`;

export const PRINTED = [
  "['Emma', 'Ulyss']",
  "['Em', 'Ul']",
  "['EMMA', 'ULYSSES', 'NEW']",
  "['ammE', 'sessylU', 'wen']",
  "",
];

/** Runs the cells as a notebook over a database; returns what they print. */
export async function runNotebook(project: TestProject, target: string): Promise<string[]> {
  const places = ["JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"];
  for (const name of places) project.env[name] = join(project.folder, name.toLowerCase());
  writeFile(project, "cells.json", JSON.stringify(CELLS.map((cell) => cell.replaceAll('"main/', `"${target}/`))));
  return (await runFile(project, "run_cells.py", RUN_CELLS)).split("\n");
}
