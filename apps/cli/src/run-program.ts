import { runCommandLine } from "./app.ts";
import { createContext } from "./create-context.ts";
import type { Program } from "./program.ts";
import type { Ahead } from "./project/read-ahead.ts";

/** Runs the command line to its end, and ends the process. */
export async function runProgram(input: {
  readonly argv: readonly string[];
  readonly ahead: Ahead | undefined;
  readonly program: Program;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { ahead, argv, program, signal } = input;
  const world = createContext({ ahead, node: process, program, signal });
  // `cli service logs main/ingest | head`: the reader has what it wanted.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  await runCommandLine(argv, world);
  process.exitCode = Number(world.process.exitCode ?? 0);
}
