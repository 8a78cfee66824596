import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { ensurePythonTools } from "./support/python-tools.ts";
import { makeProject } from "./support/served.ts";

test("pyarrow reads the same values of every kind as come in rows", async () => {
  const python = join(await ensurePythonTools("library"), "python");
  await using project = await makeProject("");
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
  const script = join(ROOT, "e2e", "oracle", "arrow_kinds.py");
  const { stdout } = await promisify(execFile)(python, [script, "main/kinds"], { cwd: project.folder, env });
  expect(JSON.parse(stdout)).toEqual([]);
}, 240_000);
