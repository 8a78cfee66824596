import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ROOT, TOOLS_PYTHON } from "./paths.mjs";

/** The stubs of the Python library, generated from its code, by path from the root of the checkout. */
export function pythonStubs(): Record<string, string> {
  const printed = execFileSync(TOOLS_PYTHON, ["-B", join(ROOT, "scripts", "print-stubs.py")]);
  return JSON.parse(printed.toString()) as Record<string, string>;
}
