import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { findCheckout } from "./postgres-binaries.ts";

/** vitest's globalSetup: the programs are built from the sources as they are, before the first test starts one. */
export function setup(): void {
  const program = join(findCheckout(import.meta.dirname), "scripts", "ensure-built.mjs");
  execFileSync(process.execPath, [program], { stdio: "inherit" });
}
