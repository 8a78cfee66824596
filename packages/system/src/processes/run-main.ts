import { toProblem } from "@appdb/contract/errors";
import { closeInherited } from "./inherited-descriptors.ts";

/**
 * Runs a program's main function and exits with its status. Errors are printed on stderr with detail and hint, plus the
 * stack for internal errors, and the status is 1. Inherited descriptors are closed first.
 */
export function runMain(run: () => Promise<number>): void {
  closeInherited();
  // no top-level await: the bundles are CommonJS, which loads Node's own modules on first use instead of at the start
  void run()
    .catch(report)
    .then((status) => process.exit(process.exitCode ?? status));
}

function report(error: unknown): number {
  const problem = toProblem(error);
  process.stderr.write(`error: ${problem.detail}\n`);
  if (problem.hint !== undefined) process.stderr.write(`hint: ${problem.hint}\n`);
  if (problem.code === "internal_error") process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  return 1;
}
