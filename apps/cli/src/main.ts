/**
 * Entry of the command `cli`. What a person typed goes through app.ts to one file of commands/; create-context.ts makes what
 * the commands may touch. Until then nothing is imported: `cli --version` has to answer as fast as Node starts.
 */
import { VERSION } from "@appdb/contract/version";

async function start(argv: readonly string[]): Promise<void> {
  const [{ createContext }, { locateProgram }, { guessApplication }] = await Promise.all([
    import("./create-context.ts"),
    import("./program.ts"),
    import("./project/guess-application.ts"),
  ]);
  const interrupt = new AbortController();
  process.on("SIGINT", () => {
    // The second one means it: whatever still waits is left.
    if (interrupt.signal.aborted) process.exit(130);
    interrupt.abort();
  });
  process.on("SIGTERM", () => interrupt.abort());
  const program = locateProgram(import.meta.url, process);
  const ahead = guessApplication(argv);
  const world = createContext({ ahead, node: process, program, signal: interrupt.signal });
  // The application's Python starts now; what follows is loaded while it runs.
  if (ahead !== undefined) await new Promise((resolve) => setImmediate(resolve));
  // `cli service logs main/ingest | head`: the reader has what it wanted.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  const { runCommandLine } = await import("./app.ts");
  await runCommandLine(argv, world);
  process.exitCode = Number(world.process.exitCode ?? 0);
}

const argv = process.argv.slice(2);
if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-v")) process.stdout.write(`${VERSION}\n`);
else void start(argv);
