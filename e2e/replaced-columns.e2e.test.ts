import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { startWithAcme } from "./support/hosted.ts";
import { ensurePythonTools } from "./support/python-tools.ts";
import { editFile, expectExit, makeProject, writeFile } from "./support/served.ts";

const APP = `import appdb as db

Base = db.model_base()


@db.udf
def first(n: int) -> int:
    return n + 1


@db.udf
def second(n: int) -> int:
    if n == 2:
        raise ValueError("not two")
    return n + 2


class Docs(Base, name="docs"):
    n: db.Int
    x = first(n)
`;

/** The library, as a program of the project uses it. */
const PROGRAM = `import sys

import appdb as db


@db.udf
def third(n: int) -> int:
    return n * 10


@db.udf
def fourth(n: int) -> int:
    raise ValueError("never")


docs = db.get_table(f"{sys.argv[1]}/docs")
print(docs.compute(n=7)[0])
docs.insert(n=8)
docs.update({"n": 9}, where=docs.n == 8)
print(docs.order_by(docs.n).collect()["x"])
docs.add_computed_column(y=third(docs.n))
try:
    docs.add_computed_column(y=fourth(docs.n), if_exists="replace")
except db.Error as error:
    print(error.code)
docs.insert(n=10)
print(docs.compute(n=7)[0])
print(docs.order_by(docs.n).collect()["y"])
`;

const PRINTED = `{'n': 7, 'x': 8}
[2, 3, 4, 10]
fill_failed
{'n': 7, 'x': 8, 'y': 70}
[10, 20, 30, 90, 100]
`;

test("rows are written after a column's function could not be replaced, local and hosted", async () => {
  // the driver of this machine: a sandbox shows workers only some folders
  await using project = await makeProject(APP, { env: { SERVICE_PODS: "" } });
  await startWithAcme(project);
  writeFile(project, "one.jsonl", '{"n": 1}\n{"n": 2}\n');
  writeFile(project, "more.jsonl", '{"n": 3}\n');
  writeFile(project, "program.py", PROGRAM);
  await expectExit(project, 0, "schema", "update", "app.py", "main", "-f");
  await expectExit(project, 0, "db", "update", "cloud://acme:main", "-f");
  await expectExit(project, 0, "schema", "update", "app.py", "cloud://acme:main", "-f");
  for (const target of ["main", "cloud://acme:main"]) {
    await expectExit(project, 0, "insert", `${target}/docs`, "one.jsonl");
    editFile(project, "app.py", "x = first(n)", "x = second(n)");
    if (target !== "main") await expectExit(project, 0, "db", "update", target, "-f");
    const failed = await project.cli("schema", "update", "app.py", target, "-f");
    expect(failed.stderr).toContain("The column keeps its previous expression and values");
    await expectExit(project, 0, "insert", `${target}/docs`, "more.jsonl");
    await expectExit(project, 0, "recompute", `${target}/docs`, "x", "-f");
    expect(await runProgram(project, target)).toBe(PRINTED);
    editFile(project, "app.py", "x = second(n)", "x = first(n)");
  }
}, 300_000);

async function runProgram(project: TestProject, target: string): Promise<string> {
  const python = join(await ensurePythonTools("library"), "python");
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python"), PYTHONDONTWRITEBYTECODE: "1" };
  const { stdout } = await promisify(execFile)(python, ["program.py", target], { cwd: project.folder, env });
  return stdout;
}
