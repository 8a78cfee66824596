import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeBin, ROOT, TOOLS_PYTHON } from "./paths.mjs";
import { collect, stream, withoutPython } from "./run.mjs";
import { say } from "./say.mjs";
import { checkSpecCoverage } from "./spec-coverage.mjs";
import { LONG_RUNS } from "./test-files.mjs";
import { processesNaming, unmountBelow } from "./test-leftovers.mjs";

/** What tools keep for their next run, and browsers that play sounds; here it is removed with the folder. */
const CACHES = /^(tsx-|node-compile-cache$|uv-\w+\.lock$|pulse-\w+$)/;

/** Free memory required to keep test files in memory: several times their peak size. */
const ENOUGH_MEMORY = 12 * 1024 ** 3;

/** Runs the static checks, vitest and pytest, and prints the total last. Returns the exit status. */
export async function runEverything({ faults }) {
  // Tests create their files below this folder, so that leftovers are detected and removed.
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "appdb-test-"));
  const temporary = join(folder, "t");
  mkdirSync(temporary);
  const guard = startGuard(folder);
  keepInMemory(temporary);
  try {
    const env = { ...withoutPython(process.env), TMPDIR: temporary, ...(faults ? { APPDB_FAULTS: "long" } : {}) };
    const parts = faults ? await long(folder, env) : await ordinary(folder, env);
    parts.push(nothingLeft(folder, temporary));
    const sum = { passed: 0, failed: 0, skipped: 0 };
    for (const part of parts) for (const kind of Object.keys(sum)) sum[kind] += part[kind];
    console.log(`${sum.passed} passed, ${sum.failed} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ""}`);
    return sum.failed === 0 ? 0 : 1;
  } finally {
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
    guard.end();
  }
}

/**
 * Mounts the folder in memory where the system allows it. A run makes more than a hundred PostgreSQL clusters that sync
 * to disk at every commit. No test here depends on surviving a power cut, the only purpose of these syncs.
 */
function keepInMemory(folder) {
  if (process.platform !== "linux" || process.getuid() !== 0 || freemem() < ENOUGH_MEMORY) return;
  spawnSync("mount", ["-t", "tmpfs", "-o", "mode=0755", "tmpfs", folder], { stdio: "ignore" });
}

async function ordinary(folder, env) {
  // vitest's tests spend part of their time waiting for processes
  const beside = async () => [await pytest(folder, env), await staticChecks()];
  const [others, tests] = await Promise.all([beside(), vitest(folder, env, [])]);
  return [...others, tests, specCoverage(folder)];
}

/** Additional check: each sentence of the specification has tests that just passed. */
function specCoverage(folder) {
  const file = join(folder, "vitest.json");
  if (!existsSync(file)) return { passed: 0, failed: 0, skipped: 0 };
  const problems = checkSpecCoverage(JSON.parse(readFileSync(file, "utf8")));
  if (problems.length === 0) return { passed: 1, failed: 0, skipped: 0 };
  return oneFailure(problems.join("\n"));
}

/**
 * Takes an hour or two: kills under load and at each step of each operation, many fuzzed requests, and the full proofs
 * that SQL and Python compute equal values and that queries have the same rows everywhere.
 */
async function long(folder, env) {
  const parts = [];
  for (const { env: own, names, project } of LONG_RUNS) {
    parts.push(await vitest(folder, { ...env, ...own }, ["--project", project, ...names]));
  }
  return parts;
}

/** Additional check: the tests left no file and no process behind. */
function nothingLeft(folder, temporary) {
  const files = readdirSync(temporary).filter((name) => !CACHES.test(name));
  const processes = processesNaming(folder).map(({ pid, command }) => `process ${pid} (${command})`);
  if (files.length === 0 && processes.length === 0) return { passed: 1, failed: 0, skipped: 0 };
  return oneFailure(`The tests left behind: ${[...files, ...processes].join(", ")}`);
}

/** A separate process that cleans up when this one is killed; `end` tells it that the run has finished. */
function startGuard(folder) {
  const guard = spawn(process.execPath, [fileURLToPath(new URL("./test-guard.mjs", import.meta.url))], {
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
  guard.stdin.write(`${folder}\n`);
  guard.unref();
  return { end: () => guard.stdin.end("ended\n") };
}

async function staticChecks() {
  const { runChecks } = await import("./checks.mjs");
  const results = await runChecks({ is_beside: true });
  const failed = results.filter(({ ok }) => !ok).length;
  return { passed: results.length - failed, failed, skipped: 0 };
}

async function vitest(folder, env, filter) {
  const file = join(folder, "vitest.json");
  rmSync(file, { force: true });
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
    // an error outside any test (failed setup, unhandled rejection) fails the run without a failed test
    failed: status !== 0 && failed === 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function filesThatDidNotLoad(report) {
  return report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
}

async function pytest(folder, env) {
  const file = join(folder, "pytest.xml");
  const args = [
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    `--junitxml=${file}`,
    `--basetemp=${join(folder, "pytest")}`,
    "python/tests",
  ];
  const options = { cwd: ROOT, env: { ...env, PYTHONDONTWRITEBYTECODE: "1" } };
  const { code: status, output } = await collect(TOOLS_PYTHON, args, options);
  console.log(`\n--- pytest\n${output.trimEnd()}\n`);
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
