// `npm run check`: Biome, the TypeScript compiler, knip and the unit tests, side by side where they can be.
import { spawn } from "node:child_process";
import { nodeBin, ROOT } from "./lib/paths.mjs";

const CHECKS = [
  { name: "biome", args: [nodeBin("@biomejs/biome", "biome"), "check", "--error-on-warnings"] },
  { name: "tsc", args: [nodeBin("typescript", "tsc"), "--noEmit", "-p", "."] },
  { name: "knip", args: [nodeBin("knip", "knip"), "--no-progress"] },
];
const UNIT = { name: "unit", args: [nodeBin("vitest", "vitest"), "run", "--project", "unit"] };

/** Runs one check with its output kept back, so that two at a time stay readable. */
function run({ name, args }) {
  return new Promise((resolve) => {
    const started = Date.now();
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (data) => {
      output += data;
    });
    child.stderr.on("data", (data) => {
      output += data;
    });
    child.on("error", (error) => resolve({ name, ok: false, output: String(error) }));
    child.on("close", (code) => {
      const seconds = ((Date.now() - started) / 1000).toFixed(1);
      console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
      resolve({ name, ok: code === 0, output });
    });
  });
}

const checks = process.argv.includes("--no-unit") ? CHECKS : [...CHECKS, UNIT];
const results = await Promise.all(checks.map(run));
const failed = results.filter((result) => !result.ok);
for (const { name, output } of failed) console.error(`\n--- ${name}\n${output.trimEnd()}`);
process.exit(failed.length === 0 ? 0 : 1);
