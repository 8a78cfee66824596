import { spawn } from "node:child_process";
import { nodeBin, ROOT } from "./paths.mjs";

const STATIC = [
  { name: "biome", args: () => [nodeBin("@biomejs/biome", "biome"), "check", "--error-on-warnings"] },
  { name: "tsc", args: () => [nodeBin("typescript", "tsc"), "--noEmit", "-p", "."] },
  { name: "knip", args: () => [nodeBin("knip", "knip"), "--no-progress"] },
];
const UNIT = { name: "unit tests", args: () => [nodeBin("vitest", "vitest"), "run", "--project", "unit"] };

/** Runs Biome, the compiler and knip side by side, and the unit tests when asked; answers `{name, ok}` of each. */
export async function runChecks({ unit = false } = {}) {
  const results = await Promise.all((unit ? [...STATIC, UNIT] : STATIC).map(run));
  for (const { name, ok, output } of results) if (!ok) console.error(`\n--- ${name}\n${output.trimEnd()}`);
  return results;
}

/** One check with its output kept back, so that two at a time stay readable. */
function run({ name, args }) {
  return new Promise((resolve) => {
    const started = Date.now();
    const child = spawn(process.execPath, args(), { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const add = (data) => {
      output += data;
    };
    child.stdout.on("data", add);
    child.stderr.on("data", add);
    child.on("error", (error) => resolve({ name, ok: false, output: String(error) }));
    child.on("close", (code) => {
      console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
      resolve({ name, ok: code === 0, output });
    });
  });
}
