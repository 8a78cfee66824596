import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { copyExample, ALL_EXAMPLES as EXAMPLES } from "./support/examples.ts";

const PYRIGHT = join(ROOT, "node_modules", ".bin", "pyright");

const PYTHON = join(ROOT, ".tools", "bin", "python");

test("pyright reports no problem in any example in strict mode", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-pyright-"));
  try {
    for (const name of EXAMPLES) copyExample(name, { folder });
    expect(await typeErrors(folder)).toEqual([]);
    const [first = ""] = EXAMPLES;
    writeFileSync(join(folder, first, "wrong.py"), WRONG);
    const found = await typeErrors(folder);
    const places = new Set(found.map((line) => line.split(": ", 1)[0]));
    expect([...places]).toEqual([4, 7].map((line) => `${first}/wrong.py:${line}`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 180_000);

/** A name that the library does not have, and a parameter without a type, which strict mode alone reports. */
const WRONG = `import appdb as db
from appdb.functions import upper

print(upper("a"), db.model_bas())


def title(row) -> str:
    return "title"
`;

/** pyright's reports for all examples, each in its own folder, as an editor would show them. */
async function typeErrors(folder: string): Promise<string[]> {
  const extraPaths = [join(ROOT, "python")];
  const executionEnvironments = EXAMPLES.map((root) => ({ root, extraPaths }));
  // Without extraPaths at the top, the imports inside the library's stubs are unknown.
  const config = { include: ["."], strict: ["."], extraPaths, executionEnvironments, pythonVersion: "3.11" };
  writeFileSync(join(folder, "pyrightconfig.json"), JSON.stringify(config));
  const run = promisify(execFile)(PYRIGHT, ["--outputjson", "--pythonpath", PYTHON, "-p", folder], {
    encoding: "utf8",
  });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  const report = JSON.parse(stdout) as {
    summary: { filesAnalyzed: number };
    generalDiagnostics: { file: string; range: { start: { line: number } }; message: string }[];
  };
  expect(report.summary.filesAnalyzed).toBeGreaterThan(2 * EXAMPLES.length);
  return report.generalDiagnostics.map(
    ({ file, range, message }) => `${file.slice(folder.length + 1)}:${range.start.line + 1}: ${message}`,
  );
}
