import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { findCheckout } from "./postgres-binaries.ts";

/** vitest's globalSetup: builds the programs from the current sources before the first test. */
export function setup(): void {
  const program = join(findCheckout(import.meta.dirname), "scripts", "ensure-built.mjs");
  execFileSync(process.execPath, [program], { stdio: "inherit" });
}
