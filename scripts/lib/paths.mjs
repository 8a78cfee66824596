import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Root of the checkout. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
export const DIST = join(ROOT, "dist");
export const TOOLS = join(ROOT, ".tools");

const WINDOWS = process.platform === "win32";

/** Interpreter of the tool environment. */
export const TOOLS_PYTHON = WINDOWS ? join(TOOLS, "Scripts", "python.exe") : join(TOOLS, "bin", "python");

/** The script behind a package's command, for running it with this Node and without a shell. */
export function nodeBin(packageName, command) {
  const folder = join(ROOT, "node_modules", packageName);
  const { bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return join(folder, typeof bin === "string" ? bin : bin[command]);
}
