// Databases of tests: a suite of a user with `appdb.testing`.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { openTestProject, ROOT } from "@appdb/testkit/test-project";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";

const TESTS_PER_RUN = 20;
const APP = `import appdb as db
from appdb.functions import upper

Base = db.model_base()


class Books(Base, name="books"):
    title: db.String
    loud = upper(title)
`;
/** Writes the seconds of each test, with its fixture. */
const CONFTEST = `import json

pytest_plugins = ["appdb.testing"]
seconds = {}


def pytest_runtest_logreport(report):
    name = report.nodeid.rpartition("::")[2]
    seconds[name] = seconds.get(name, 0) + report.duration


def pytest_sessionfinish():
    with open("seconds.json", "w") as file:
        json.dump(seconds, file)
`;
const SUITE = `import pytest
from app import Base, Books

RUNS = range(${TESTS_PER_RUN})


@pytest.mark.parametrize("at", RUNS)
def test_copies(database, at):
    database.create_all(Base)
    assert database.name


@pytest.mark.parametrize("at", RUNS)
def test_inserts(database, at):
    database.create_all(Base)
    Books.insert(title="Emma")
    assert Books.collect()[0]["loud"] == "EMMA"
`;

/** Times tests with databases of their own, without the first, which creates the tables. */
export async function measureTesting(bench: Bench): Promise<Measure[]> {
  await using project = openTestProject();
  for (const [name, text] of Object.entries({ "app.py": APP, "conftest.py": CONFTEST, "test_books.py": SUITE }))
    await writeFile(join(project.folder, name), text);
  const python = join(ROOT, ".tools", "bin", "python");
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
  await project.cli("daemon", "start");
  const found: Record<string, number[]> = { test_copies: [], test_inserts: [] };
  for (let run = 0; run < bench.runs; run += 1) {
    await promisify(execFile)(python, ["-m", "pytest", "-q"], { cwd: project.folder, env });
    const seconds = JSON.parse(await readFile(join(project.folder, "seconds.json"), "utf8")) as Record<string, number>;
    for (const [test, time] of Object.entries(seconds).slice(1))
      found[test.slice(0, test.indexOf("["))]?.push(time * 1000);
  }
  const common = { unit: "ms", limit: undefined, reach: { at_most: 100 } };
  return [
    { name: "a test with a database of its own", ours: found["test_copies"] ?? [], ...common },
    { name: "the same, which inserts and collects", ours: found["test_inserts"] ?? [], ...common },
  ];
}
