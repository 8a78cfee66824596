import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Runtime } from "@appdb/contract/runtime";
import { findCheckout } from "./postgres-binaries.ts";

/** Runs the code of a folder with the Python of the tool environment and the checkout's library. */
export function testRuntime(projectRoot: string, env: Readonly<Record<string, string>> = {}): Runtime {
  const checkout = findCheckout(import.meta.dirname);
  const tools = join(checkout, ".tools", "lib");
  return {
    python: join(checkout, ".tools", "bin", "python"),
    python_source: "test",
    project_root: projectRoot,
    library_paths: [join(checkout, "python"), ...readdirSync(tools).map((name) => join(tools, name, "site-packages"))],
    env: { PATH: process.env.PATH ?? "", PYTHONDONTWRITEBYTECODE: "1", ...env },
  };
}
