import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "@appdb/testkit/eventually";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { ensurePythonTools } from "./support/python-tools.ts";
import { expectExit, makeProject, writeFile } from "./support/served.ts";

/** Files of testing.md. */
const FILE = /<!-- file: (\S+) -->\n```python\n(.*?)```\n/gs;
const files = [...readFileSync(join(ROOT, "docs", "testing.md"), "utf8").matchAll(FILE)];

async function writeSuite(project: TestProject): Promise<void> {
  for (const [, name = "", text = ""] of files) writeFile(project, name, text);
}

async function startPytest(project: TestProject, ...options: readonly string[]) {
  const tools = await ensurePythonTools("library");
  const own = { PYTHONPATH: join(ROOT, "python"), PYTEST_DEBUG_TEMPROOT: project.folder };
  const env = { ...process.env, ...project.env, ...own };
  const started = promisify(execFile)(join(tools, "python"), ["-m", "pytest", "-q", ...options], {
    cwd: project.folder,
    env,
  });
  return { child: started.child, ended: started.catch((error) => ({ stdout: `${error.stdout}${error.stderr}` })) };
}

async function listScratch(project: TestProject): Promise<string[]> {
  return readdirSync(join(project.env["SERVICE_HOME"] ?? "", "scratch")).sort();
}

test("the suite of testing.md passes, also in parallel, and leaves no database", async () => {
  await using project = await makeProject("");
  await writeSuite(project);
  await expectExit(project, 0, "daemon", "start");
  for (const options of [[], ["-n", "2"]]) {
    const { stdout } = await (await startPytest(project, ...options)).ended;
    expect(stdout).toMatch(/\n5 passed in /);
    await eventually(async () => expect(await listScratch(project)).toEqual([]), { timeout_ms: 60_000 });
  }
}, 240_000);

test("a killed run leaves no database", async () => {
  await using project = await makeProject("");
  await writeSuite(project);
  writeFile(
    project,
    "test_slow.py",
    `import time
from app import Base, Books


def test_slow(database):
    database.create_all(Base)
    Books.insert(title="Emma")
    open("ready", "w").close()
    time.sleep(600)
`,
  );
  await expectExit(project, 0, "daemon", "start");
  const { child, ended } = await startPytest(project, "test_slow.py");
  await eventually(async () => expect(readdirSync(project.folder)).toContain("ready"), { timeout_ms: 120_000 });
  expect(await listScratch(project)).toContain(`test-${child.pid}-main-2.json`);
  child.kill("SIGKILL");
  await ended;
  await eventually(async () => expect(await listScratch(project)).toEqual([]), { timeout_ms: 60_000 });
  expect((await expectExit(project, 0, "db", "list", "--local")).stdout).not.toContain("test-");
}, 240_000);
