import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeBin, ROOT, TOOLS_PYTHON } from "./paths.mjs";
import { stream } from "./run.mjs";
import { say } from "./say.mjs";

/** Runs the static checks, vitest and pytest, and prints the sum last. Answers the exit status. */
export async function runEverything({ faults }) {
  const reports = mkdtempSync(join(tmpdir(), "appdb-test-"));
  try {
    const env = { ...process.env, ...(faults ? { APPDB_FAULTS: "long" } : {}) };
    const parts = faults ? [await vitest(reports, env, ["--project", "e2e", "kills"])] : await ordinary(reports, env);
    const sum = { passed: 0, failed: 0, skipped: 0 };
    for (const part of parts) for (const kind of Object.keys(sum)) sum[kind] += part[kind];
    console.log(`${sum.passed} passed, ${sum.failed} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ""}`);
    return sum.failed === 0 ? 0 : 1;
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

async function ordinary(reports, env) {
  const checks = await staticChecks();
  return [checks, await pytest(reports, env), await vitest(reports, env, [])];
}

async function staticChecks() {
  const { runChecks } = await import("./checks.mjs");
  const results = await runChecks();
  const failed = results.filter(({ ok }) => !ok).length;
  return { passed: results.length - failed, failed, skipped: 0 };
}

async function vitest(reports, env, filter) {
  const file = join(reports, "vitest.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const status = await stream(process.execPath, [nodeBin("vitest", "vitest"), "run", ...reporters, ...filter], {
    cwd: ROOT,
    env,
  });
  if (!existsSync(file)) return oneFailure("vitest ended without a report.");
  const report = JSON.parse(readFileSync(file, "utf8"));
  const failed = report.numFailedTests + filesThatDidNotLoad(report);
  return {
    passed: report.numPassedTests,
    // an error outside any test (a failed set-up, a promise nobody awaited) fails the run without failing a test
    failed: status !== 0 && failed === 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function filesThatDidNotLoad(report) {
  return report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
}

async function pytest(reports, env) {
  const file = join(reports, "pytest.xml");
  const args = ["-m", "pytest", "-q", "-p", "no:cacheprovider", `--junitxml=${file}`, "python/tests"];
  const status = await stream(TOOLS_PYTHON, args, { cwd: ROOT, env: { ...env, PYTHONDONTWRITEBYTECODE: "1" } });
  if (!existsSync(file)) return oneFailure("pytest ended without a report.");
  const xml = readFileSync(file, "utf8");
  const count = (name) => Number(new RegExp(`<testsuite [^>]*\\b${name}="(\\d+)"`).exec(xml)?.[1] ?? 0);
  const failed = count("failures") + count("errors");
  const skipped = count("skipped");
  return { passed: count("tests") - failed - skipped, failed: status !== 0 && failed === 0 ? 1 : failed, skipped };
}

function oneFailure(line) {
  say(line);
  return { passed: 0, failed: 1, skipped: 0 };
}
