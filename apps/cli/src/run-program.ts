import { writeSync } from "node:fs";
import { appError, toProblem } from "@appdb/contract/errors";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { hasPlan } from "./command-entry.ts";
import { LEAVES, NOUNS } from "./command-table.ts";
import { createContext } from "./create-context.ts";
import { EXIT, exitCodeOf } from "./output/exit-codes.ts";
import { createOutput } from "./output/output.ts";
import type { Program } from "./program.ts";
import { guessDaemon } from "./project/guess-application.ts";
import type { Ahead } from "./project/read-ahead.ts";

/** Commands that print without a bound, and change nothing when their reader is gone. */
const READERS: ReadonlySet<string> = new Set(["logs", "events", "run", "dev", "query", "export"]);

/** Reports that the current folder is gone, and fails. */
export function refuseLostFolder(argv: readonly string[]): void {
  const problem = toProblem(
    appError("usage", { detail: "The current folder no longer exists.", hint: "Go to a folder that exists: cd ~" }),
  );
  createOutput(process.stdout, process.stderr, true).problem(problem, argv.includes("--json"));
  process.exitCode = exitCodeOf("usage", hasPlan({ leaves: LEAVES, nouns: NOUNS }, argv));
}

/** Reports that the output was not written, and fails. The process ends at once: the rest has no reader. */
export function failOutput(error: Error): never {
  const reason = isDiskFull(error) ? "no space is left on its disk" : error.message;
  const problem = appError(isDiskFull(error) ? "disk_full" : "usage", {
    detail: `The output of the command cannot be written: ${reason}.`,
    hint: "Send the output to another place. A change that the command made stays.",
  });
  const stderr = { write: (text: string) => writeSync(2, text) };
  createOutput(process.stdout, stderr, true).problem(toProblem(problem), false);
  process.exit(EXIT.failed);
}

/** Runs the command line to its end and exits. */
export async function runProgram(input: {
  readonly argv: readonly string[];
  readonly ahead: Ahead | undefined;
  readonly program: Program;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { ahead, argv, program, signal } = input;
  const callsDaemon = guessDaemon(argv, ahead?.input);
  const world = createContext({ ahead, calls_daemon: callsDaemon, node: process, program, signal });
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") failOutput(error);
    // `cli service logs main/ingest | head`: a reader that stops early ends such a command; commands that change
    // something continue
    if (READERS.has(argv[1] ?? "") || READERS.has(argv[0] ?? "")) process.exit(0);
  });
  // Python runs, or the daemon is being queried: one event-loop turn sends that, and the rest is loaded meanwhile.
  if (ahead !== undefined || callsDaemon) await new Promise((resolve) => setImmediate(resolve));
  const { runCommandLine } = await import("./app.ts");
  await runCommandLine(argv, world);
  process.exitCode = Number(world.process.exitCode ?? 0);
  // the listener of an error is called later
  const { errored } = process.stdout;
  if (errored != null && !("code" in errored && errored.code === "EPIPE")) failOutput(errored);
  // The command has ended. A normal exit would free the heap slowly, so the process exits at once after its output is
  // written.
  if (process.stdout.writableLength === 0 && process.stderr.writableLength === 0) process.exit();
}
