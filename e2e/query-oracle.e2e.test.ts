import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { ensurePythonTools } from "./support/python-tools.ts";
import { makeProject, serveProject } from "./support/served.ts";

/** Random queries; QUERY_CASES=2000 is the full proof (`npm run test:faults`). QUERY_SEED generates others. */
const CASES = Number(process.env.QUERY_CASES ?? 80);
const SEED = Number(process.env.QUERY_SEED ?? 1);
/** Queries of one application: a file with more takes long to plan. */
const AT_ONCE = 200;

interface Report {
  readonly tally: { readonly compared: number; readonly undefined: number; readonly failed: number };
  readonly differences: readonly Record<string, unknown>[];
}

test(
  `${CASES} random queries have the same rows in the library, over HTTP and in plain Python`,
  async () => {
    const python = join(await ensurePythonTools("library"), "python");
    let compared = 0;
    for (let done = 0; done < CASES; done += AT_ONCE) {
      const cases = Math.min(AT_ONCE, CASES - done);
      await using project = await makeProject("");
      const args = [String(SEED + done), String(cases)];
      await runOracle(project, python, "write", ...args);
      const address = await serveProject(project);
      const report = JSON.parse(await runOracle(project, python, "run", ...args, address, "main")) as Report;
      expect(report.differences.slice(0, 5)).toEqual([]);
      compared += report.tally.compared;
    }
    // Queries that raise have no rows to compare. With more of them the test would prove little.
    expect(compared).toBeGreaterThan(CASES * 0.8);
  },
  Math.max(240_000, CASES * 1_000),
);

/** Runs e2e/oracle/compare.py in the project and returns what it printed. */
async function runOracle(project: TestProject, python: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, ...project.env, PYTHONPATH: join(ROOT, "python") };
  const script = join(ROOT, "e2e", "oracle", "compare.py");
  const options = { cwd: project.folder, env, maxBuffer: 1 << 26 };
  return (await promisify(execFile)(python, [script, ...args], options)).stdout;
}
