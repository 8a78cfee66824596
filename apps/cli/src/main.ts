/**
 * Entry point of the command `cli`. A command that reads an application file mostly waits for Python. Python therefore
 * starts first with the few imports of this file; run-program.ts, a separate bundle, is loaded while Python runs.
 */
import { VERSION } from "@appdb/contract/version";
import { locateProgram } from "./program.ts";
import { guessApplication } from "./project/guess-application.ts";

async function start(argv: readonly string[]): Promise<void> {
  const interrupt = new AbortController();
  process.on("SIGINT", () => {
    // A second Ctrl-C exits immediately.
    if (interrupt.signal.aborted) process.exit(130);
    interrupt.abort();
  });
  process.on("SIGTERM", () => interrupt.abort());
  if (!hasCurrentFolder()) {
    (await import("./run-program.ts")).refuseLostFolder(argv);
    return;
  }
  const program = locateProgram(import.meta.url, process);
  const input = guessApplication(argv);
  const { signal } = interrupt;
  const ahead =
    input === undefined
      ? undefined
      : (await import("./project/read-ahead.ts")).readAhead(input, { node: process, program, signal });
  // Python is started in this turn of the event loop.
  if (ahead !== undefined) await new Promise((resolve) => setImmediate(resolve));
  const { runProgram } = await import("./run-program.ts");
  await runProgram({ argv, ahead, program, signal });
}

/** False for a shell whose current folder was removed; all relative paths are invalid then. */
function hasCurrentFolder(): boolean {
  try {
    return process.cwd() !== "";
  } catch {
    return false;
  }
}

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-v")) {
  process.stdout.on("error", async (error) => (await import("./run-program.ts")).failOutput(error));
  process.stdout.write(`${VERSION}\n`);
} else void start(argv);
