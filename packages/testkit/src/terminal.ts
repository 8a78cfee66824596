import { execFile } from "node:child_process";
import { join } from "node:path";
import { findCheckout } from "./postgres-binaries.ts";

/** Text that is typed, text that the terminal must show next, or seconds without either. */
export type TerminalStep = { readonly type: string } | { readonly wait: string } | { readonly pause: number };

export interface TerminalRun {
  readonly exit: number;
  readonly output: string;
  /** Time of each step. */
  readonly seconds: readonly number[];
}

/** Runs a command in a pseudo-terminal. Rejects with its output when a text does not appear within a minute. */
export async function runInTerminal(
  command: readonly string[],
  steps: readonly TerminalStep[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<TerminalRun> {
  const python = join(findCheckout(import.meta.dirname), ".tools/bin/python");
  const script = join(import.meta.dirname, "terminal.py");
  const text = await new Promise<string>((resolve, reject) => {
    const child = execFile(
      python,
      [script, ...command],
      { ...options, maxBuffer: 64_000_000 },
      (error, stdout, stderr) => (error === null ? resolve(stdout) : reject(new Error(stderr, { cause: error }))),
    );
    child.stdin?.end(JSON.stringify(steps));
  });
  const { failure, ...ran } = JSON.parse(text) as TerminalRun & { readonly failure: string | null };
  if (failure !== null) throw new Error(`${failure}\n${ran.output}`);
  return ran;
}
