import { toProblem } from "@appdb/contract/errors";
import { closeInherited } from "./inherited-descriptors.ts";

/**
 * Runs a program's main function and ends the process with its status. What it throws is told on stderr as what happened and
 * the next step, with the stack only when the fault is our own; the status is 1 then. What was open where it was started is closed.
 */
export function runMain(run: () => Promise<number>): void {
  closeInherited();
  // no await at the top of a program: the bundles are CommonJS, which loads Node's own modules when they are needed and not all
  // at the start
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
