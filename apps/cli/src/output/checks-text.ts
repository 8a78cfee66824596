import type { MachineCheck } from "../context.ts";
import type { Output } from "./output.ts";
import { showControls } from "./show-controls.ts";

/** Prints checks, each with what to do if it is not ok. `failed` is the word for those. */
export function printChecks(checks: readonly MachineCheck[], out: Output, failed: string): void {
  const width = Math.max(...checks.map((check) => check.name.length));
  for (const check of checks) {
    const state = (check.ok ? "ok" : failed).padEnd(failed.length);
    out.line(`${state}  ${check.name.padEnd(width)}  ${showControls(check.detail)}`);
    if (check.hint !== null) out.line(`${" ".repeat(failed.length)}  ${" ".repeat(width)}  ${check.hint}`);
  }
}
