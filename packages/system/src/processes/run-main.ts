import { closeSync, readdirSync, readFileSync } from "node:fs";
import { toProblem } from "@appdb/contract/errors";

/** Table of a process's descriptors; only Linux has it. */
const DESCRIPTORS = "/proc/self/fdinfo";
/** Close-on-exec flag. Node sets it on all descriptors that it opens. */
const CLOSED_BY_EXEC = 0o2000000;
const LAST_STANDARD = 2;

/**
 * Closes descriptors that the starter of this program left open: files and sockets of a shell or supervisor. Node
 * closes only the lowest of them in child processes; application code would find the others open.
 */
function closeInherited(): void {
  for (const descriptor of listDescriptors().filter((number) => number > LAST_STANDARD)) {
    if (isInherited(descriptor)) closeSync(descriptor);
  }
}

function listDescriptors(): number[] {
  try {
    return readdirSync(DESCRIPTORS).map(Number);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`${DESCRIPTORS}/${descriptor}`, "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSED_BY_EXEC) === 0;
  } catch (error) {
    // the descriptor that read the table
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

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
