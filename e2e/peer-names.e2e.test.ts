import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { makeProject } from "./support/served.ts";

const PYTHON = join(ROOT, ".tools", "bin", "python");

test("each name of the most similar library works, or is refused with a next step", async () => {
  await using project = await makeProject("");
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
  const script = join(ROOT, "e2e", "oracle", "peer_names.py");
  const { stderr } = await promisify(execFile)(PYTHON, [script, "main/names"], { cwd: project.folder, env });
  const report = JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as { lines: number; others: unknown[] };
  expect(report.others).toEqual([]);
  expect(report.lines).toBeGreaterThan(120);
}, 240_000);
