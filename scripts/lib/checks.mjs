import { nodeBin, ROOT } from "./paths.mjs";
import { collect } from "./run.mjs";

const STATIC = [
  { name: "biome", args: () => [nodeBin("@biomejs/biome", "biome"), "check", "--error-on-warnings"] },
  { name: "tsc", args: () => [nodeBin("typescript", "tsc"), "--noEmit", "-p", "."] },
  {
    name: "tsc of the dashboard, which runs in a browser",
    args: () => [nodeBin("typescript", "tsc"), "--noEmit", "-p", "apps/dashboard"],
  },
  { name: "knip", args: () => [nodeBin("knip", "knip"), "--no-progress"] },
];
const UNIT = { name: "unit tests", args: () => [nodeBin("vitest", "vitest"), "run", "--project", "unit"] };

/** Niceness of checks that run next to tests, because no one waits for them. */
const BESIDE_TESTS = 10;

/**
 * Runs Biome, the compiler and knip concurrently, and unit tests on request. Returns `{name, ok}` of each. With
 * `is_beside`, other work has priority.
 */
export async function runChecks({ unit = false, is_beside: isBeside = false } = {}) {
  const checks = unit ? [...STATIC, UNIT] : STATIC;
  const results = await Promise.all(checks.map((check) => run(check, isBeside)));
  for (const { name, ok, output } of results) if (!ok) console.error(`\n--- ${name}\n${output.trimEnd()}`);
  return results;
}

async function run({ name, args }, isBeside) {
  const started = Date.now();
  const { code, output } = await collect(process.execPath, args(), {
    cwd: ROOT,
    ...(isBeside ? { niceness: BESIDE_TESTS } : {}),
  });
  console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  return { name, ok: code === 0, output };
}
