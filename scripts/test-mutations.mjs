// `npm run test:mutations`: plants each fault of lib/mutations.mjs separately and expects its named test to fail.
// Arguments select faults by number. The last line is `N noticed, N unnoticed`, and the exit status is 1 when a fault
// went unnoticed.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MUTATIONS } from "./lib/mutations.mjs";
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { nodeBin, ROOT } from "./lib/paths.mjs";
import { withoutPython } from "./lib/run.mjs";
import { main, Stop } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

await main(async () => {
  requireNode();
  ensureNodePackages();
  ensureToolEnvironment();
  const { ensureBuilt } = await import("./lib/build.mjs");
  await ensureBuilt();
  const typed = process.argv.slice(2).map(Number);
  const unknown = typed.filter((number) => MUTATIONS[number] === undefined);
  if (unknown.length > 0)
    throw new Stop(`No fault has this number: ${unknown.join(", ")} (0 to ${MUTATIONS.length - 1}).`);
  const chosen = typed.length > 0 ? typed : MUTATIONS.map((_, at) => at);
  let unnoticed = 0;
  for (const number of chosen) {
    const outcome = tryFault(number);
    if (outcome !== "noticed") unnoticed += 1;
    const { takes, test } = MUTATIONS[number];
    console.log(`${String(number).padStart(2)} ${outcome.padEnd(9)} "${takes}" is gone: ${test}`);
  }
  console.log(`${chosen.length - unnoticed} noticed, ${unnoticed} unnoticed`);
  return unnoticed === 0 ? 0 : 1;
});

/** Runs the test without and with the fault: it must pass, then fail. */
function tryFault(number) {
  const { project, test, test_file: testFile } = MUTATIONS[number];
  const before = runTest("vitest.config.ts", { project, test, test_file: testFile }, {});
  if (before !== "passed") return "no test";
  return runTest(
    "scripts/mutations.config.ts",
    { project, test, test_file: testFile },
    { APPDB_MUTATION: String(number) },
  ) === "failed"
    ? "noticed"
    : "UNNOTICED";
}

/** Whether the test passed or failed; `none` when it did not run. */
function runTest(config, { project, test, test_file: testFile }, env) {
  const folder = mkdtempSync(join(tmpdir(), "appdb-mutation-"));
  try {
    const report = join(folder, "report.json");
    const name = `${test.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
    const chosen = ["run", "--config", config, "--project", project, testFile, "-t", name];
    const ran = spawnSync(
      process.execPath,
      [nodeBin("vitest", "vitest"), ...chosen, "--reporter=json", `--outputFile=${report}`],
      {
        cwd: ROOT,
        env: { ...withoutPython(process.env), TMPDIR: folder, ...env },
        encoding: "utf8",
      },
    );
    if (ran.error !== undefined) throw ran.error;
    const states = JSON.parse(readFileSync(report, "utf8"))
      .testResults.flatMap(({ assertionResults }) => assertionResults)
      .filter(({ title }) => title.includes(test))
      .map(({ status }) => status);
    if (states.includes("failed")) return "failed";
    return states.includes("passed") ? "passed" : "none";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
