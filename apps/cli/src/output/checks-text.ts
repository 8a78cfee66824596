import type { MachineCheck } from "../context.ts";
import type { Output } from "./output.ts";
import { showControls } from "./show-controls.ts";

/** Prints checks, each with what to do if it is not ok. `word` is for those that do not say that they failed. */
export function printChecks(checks: readonly MachineCheck[], out: Output, word: string): void {
  const width = Math.max(...checks.map((check) => check.name.length));
  for (const check of checks) {
    const state = wordOf(check, word).padEnd(word.length);
    out.line(`${state}  ${check.name.padEnd(width)}  ${showControls(check.detail)}`);
    if (check.hint !== null) out.line(`${" ".repeat(word.length)}  ${" ".repeat(width)}  ${check.hint}`);
  }
}

function wordOf({ failed, ok }: MachineCheck, word: string): string {
  if (ok) return "ok";
  return failed === true ? "FAILED" : word;
}
