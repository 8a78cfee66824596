// The tools of the checkout have neither pandas nor pyarrow, so the tests that need them are skipped there.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { ensurePythonTools } from "./support/python-tools.ts";

const FILES = ["frames", "columns", "sources"].map((name) => `python/tests/test_client_${name}.py`);

test("the Python tests of data frames pass with pandas and pyarrow", async () => {
  const python = `${await ensurePythonTools("library")}/python`;
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };
  const folder = await mkdtemp(join(tmpdir(), "appdb-frames-"));
  try {
    await runTests(python, folder, env);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 240_000);

async function runTests(python: string, folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const options = ["-q", "-p", "no:cacheprovider", "--basetemp", join(folder, "tests")];
  const { stdout } = await promisify(execFile)(python, ["-m", "pytest", ...options, ...FILES], { cwd: ROOT, env });
  const [passed = 0] = /(\d+) passed/.exec(stdout)?.slice(1).map(Number) ?? [];
  expect(passed).toBeGreaterThan(200);
}
