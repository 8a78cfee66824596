import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { copyExample, EXAMPLES_WITH_CLIENT } from "./support/examples.ts";

const PYRIGHT = join(ROOT, "node_modules", ".bin", "pyright");

test("pyright reports no problem in any example", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-pyright-"));
  try {
    for (const name of EXAMPLES_WITH_CLIENT) copyExample(name, { folder });
    expect(await typeErrors(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 180_000);

/** pyright's reports for all examples, each in its own folder, as an editor would show them. */
async function typeErrors(folder: string): Promise<string[]> {
  const extraPaths = [join(ROOT, "python")];
  const executionEnvironments = EXAMPLES_WITH_CLIENT.map((root) => ({ root, extraPaths }));
  const config = { include: ["."], executionEnvironments, pythonVersion: "3.11" };
  writeFileSync(join(folder, "pyrightconfig.json"), JSON.stringify(config));
  const run = promisify(execFile)(PYRIGHT, ["--outputjson", "-p", folder], { encoding: "utf8" });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  const report = JSON.parse(stdout) as {
    summary: { filesAnalyzed: number };
    generalDiagnostics: { file: string; range: { start: { line: number } }; message: string }[];
  };
  expect(report.summary.filesAnalyzed).toBeGreaterThan(2 * EXAMPLES_WITH_CLIENT.length);
  return report.generalDiagnostics.map(
    ({ file, range, message }) => `${file.slice(folder.length + 1)}:${range.start.line + 1}: ${message}`,
  );
}
