import { isatty } from "node:tty";
import type { OperatorRequest } from "@appdb/contract/operator";
import type { StricliProcess } from "@stricli/core";
import { LEAVES, NOUNS } from "./command-table.ts";
import { readCliConfig } from "./config/config.ts";
import type { Application, ApplicationInput, FoundDaemon, Prompt, Terminal, World } from "./context.ts";
import type { EnsureDaemonDeps } from "./daemon/ensure-daemon.ts";
import { describeLogLine } from "./output/log-line.ts";
import { createOutput, type Output, type TextStream } from "./output/output.ts";
import type { Program } from "./program.ts";
import type { Ahead } from "./project/read-ahead.ts";

const MAX_INPUT_BYTES = 1_000_000;

export interface ContextInput {
  /** An application that the command will probably read. */
  readonly ahead: Ahead | undefined;
  /** True for a command that calls the daemon soon, by the guess of guessDaemon. */
  readonly calls_daemon: boolean;
  readonly node: NodeJS.Process;
  readonly program: Program;
  readonly signal: AbortSignal;
}

/** The dependencies of commands in the running process. Expensive ones are loaded on first use. */
export function createContext({ ahead, calls_daemon: callsDaemon, node, program, signal }: ContextInput): World {
  const config = readCliConfig(node.env);
  const out = createOutput(lazyStream(node, "stdout"), lazyStream(node, "stderr"), config.plain);
  const cwd = node.cwd();
  const daemon: EnsureDaemonDeps = { config, program, note: out.note };
  const read = async (input: ApplicationInput): Promise<Application> => {
    const { readApplication } = await import("./project/read-application.ts");
    return await readApplication({ config, cwd, out, program, signal }, input);
  };
  ahead?.listen(out.note);
  let found = callsDaemon ? findAhead(daemon) : undefined;
  return {
    process: parserProcess(node),
    config,
    cwd,
    out,
    signal,
    prompt: isatty(0) && isatty(2) ? createPrompt(out, signal) : undefined,
    readInput: isatty(0) ? undefined : async () => await readAll(node.stdin),
    streamInput: isatty(0) ? undefined : () => bytesOf(node.stdin),
    terminal: createTerminal(node),
    control: async () => {
      const { createControlAccess } = await import("./control/create-control-access.ts");
      return createControlAccess({ config, cwd, signal, note: out.note });
    },
    daemon: {
      ensure: async () => {
        const deps = { ...daemon, found };
        found = undefined; // only valid at the time of the query
        return (await import("./daemon/ensure-daemon.ts")).ensureDaemon(deps, signal);
      },
      find: async () => (await import("./daemon/ensure-daemon.ts")).findDaemon(daemon),
      endHung: async (pid) => (await import("./daemon/hung-daemon.ts")).endHungDaemon(config.home, pid),
      waitUntilGone: async (pid) => (await import("./daemon/ensure-daemon.ts")).waitUntilGone(pid),
    },
    readApplication: async (input) => {
      const isAhead = ahead !== undefined && input.file === ahead.input.file && input.python === ahead.input.python;
      return await (isAhead ? ahead.reading : read(input));
    },
    checkApplication: async (manifest) => {
      const { checkApplication } = await import("./pod/check-application.ts");
      await checkApplication(program, manifest, signal);
    },
    startService: async (spec, raw) => {
      const { startService } = await import("./pod/start-service.ts");
      return startService(program, spec, (line) => out.note(raw ? line : describeLogLine(line)));
    },
    // the operator command's schema parsed the answer, which the compiler cannot infer for a generic command
    operate: (async (request: OperatorRequest) => {
      const { askOperator } = await import("./operator/ask-operator.ts");
      return await askOperator({ program, signal, home: config.home }, request);
    }) as World["operate"],
    commands: { leaves: LEAVES, nouns: NOUNS },
    runCommand: async (argv, commandSignal) => {
      const { runCommandLine } = await import("./app.ts");
      const world = createContext({ ahead: undefined, calls_daemon: false, node, program, signal: commandSignal });
      // the lines of a shell may be piped, and are not the input of its commands
      await runCommandLine(argv, { ...world, readInput: undefined, streamInput: undefined });
      return Number(world.process.exitCode ?? 0);
    },
    listCommands: async () => await (await import("./app.ts")).listCommands(),
    findPsql: async () => (await import("./psql/find-psql.ts")).findPsql({ config, program }),
    readDisk: async (folder) => {
      const { readDiskSpace } = await import("@appdb/system/files/disk-space");
      // without it, commands show everything else
      return await readDiskSpace(folder).catch(() => undefined);
    },
    doctor: async () => (await import("./doctor/check-machine.ts")).checkMachine({ config, program }),
  };
}

function createTerminal(node: NodeJS.Process): Terminal {
  return {
    get input() {
      return node.stdin;
    },
    get output() {
      return node.stderr;
    },
    is_interactive: isatty(0) && isatty(2),
    takeInterrupts: (listener) => {
      const previous = node.listeners("SIGINT");
      node.removeAllListeners("SIGINT");
      node.on("SIGINT", listener);
      return () => {
        node.off("SIGINT", listener);
        for (const one of previous) node.on("SIGINT", one);
      };
    },
  };
}

/** Looks for the daemon while Python runs or the command is loaded, so that the answer is ready when needed. Starts none. */
function findAhead(daemon: EnsureDaemonDeps): Promise<FoundDaemon | undefined> {
  const found = import("./daemon/ensure-daemon.ts").then(({ findDaemon }) => findDaemon(daemon));
  // Callers that need the daemon get its error.
  found.catch(() => undefined);
  return found;
}

/**
 * A stream of the process that is created on first use. Creating all of them takes 3 ms, which would delay the
 * application's Python.
 */
function lazyStream(node: NodeJS.Process, name: "stdout" | "stderr"): TextStream {
  return {
    write: (text) => node[name].write(text),
    whenReady: async () => await takesMore(node[name]),
    get isTTY() {
      return node[name].isTTY;
    },
  };
}

/** What has failed takes no more; the listener of its error ends the program (run-program.ts). */
async function takesMore(stream: NodeJS.WriteStream): Promise<void> {
  if (!stream.writableNeedDrain || stream.errored != null) return;
  await new Promise<void>((resolve) => {
    const settle = () => {
      stream.off("drain", settle);
      stream.off("error", settle);
      resolve();
    };
    stream.on("drain", settle);
    stream.on("error", settle);
  });
}

/** Streams of the command-line parser. It prints help; errors are printed by us, so its empty lines are dropped. */
function parserProcess(node: NodeJS.Process): StricliProcess {
  return {
    stdout: lazyStream(node, "stdout"),
    stderr: { write: (text) => void (text.trim() === "" ? undefined : node.stderr.write(text)) },
    env: {},
  };
}

/** Ctrl-C before a question is shown also cancels it. */
export function createPrompt(out: Output, signal: AbortSignal): Prompt {
  type Show<T> = (clack: typeof import("@clack/prompts"), signal: AbortSignal) => Promise<T | symbol>;
  const ask = async <T>(show: Show<T>): Promise<T> => {
    const [clack, { appError }] = await Promise.all([import("@clack/prompts"), import("@appdb/contract/errors")]);
    out.status("");
    const answer = signal.aborted ? undefined : await untilCtrlD(signal, (ended) => show(clack, ended));
    if (!signal.aborted && !clack.isCancel(answer)) return answer as T;
    throw appError("interrupted", { detail: "The question was cancelled. Nothing was changed." });
  };
  const output = process.stderr;
  return {
    confirm: (message) =>
      ask<boolean>(({ confirm }, ended) => confirm({ message, initialValue: false, output, signal: ended })),
    text: (message) => ask<string>(({ text }, ended) => text({ message, output, signal: ended })),
    // no mask: even the length of a secret is information
    secret: (message) => ask<string>(({ password }, ended) => password({ message, mask: "", output, signal: ended })),
  };
}

/** Asks a question that Ctrl-D cancels too: its reader of keys ends then, and the question would never be answered. */
async function untilCtrlD<T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const listen = (keys: Buffer | string) => {
    if (keys.toString().includes("\x04")) ended.abort();
  };
  process.stdin.on("data", listen);
  try {
    return await ask(AbortSignal.any([signal, ended.signal]));
  } finally {
    process.stdin.off("data", listen);
  }
}

async function* bytesOf(stream: NodeJS.ReadableStream): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) yield Buffer.from(chunk);
}

/** Reads piped input to its end. Input far above the maximum is cut and then refused as too long. */
async function readAll(stream: NodeJS.ReadableStream): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk));
    length += chunk.length;
    if (length > MAX_INPUT_BYTES) break;
  }
  return Buffer.concat(chunks);
}
