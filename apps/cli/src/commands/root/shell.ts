import { toProblem } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { complete } from "../../shell/complete.ts";
import { type History, hasSecret, MAX_HISTORY, openHistory } from "../../shell/history.ts";
import { databaseOf } from "../../shell/location.ts";
import { type LineSource, readPiped, readTexts, readTyped } from "../../shell/read-lines.ts";
import { requireLocation, Session } from "../../shell/session.ts";
import { createTableCache } from "../../shell/table-cache.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly command?: readonly string[];
}

/** Where a shell begins without a target. */
const DEFAULT_TARGET = "main";

/** The tables are read for completion when the prompt has been there for this time. */
const READ_AHEAD_MS = 200;

/** Exits with the status of the last command that failed. */
export const shell = defineCommand<Flags, [target?: string], undefined>({
  brief: "Type commands and SQL at a prompt",
  examples: [
    ["cli shell", "at the local database main"],
    ["cli shell cloud://acme:main/reports", "at a folder of a hosted database"],
    ['cli shell main -c "count docs"', "run a line, and end"],
    ["cat commands.txt | cli shell main", "run the lines of a file"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [
        {
          brief: "Where paths begin: main, main/reports, cloud://acme:main; defaults to main",
          placeholder: "TARGET",
          parse: text,
          optional: true,
        },
      ],
    },
    flags: {
      command: {
        kind: "parsed",
        parse: text,
        optional: true,
        variadic: true,
        brief: "Run this line instead of reading lines",
        placeholder: "line",
      },
    },
    aliases: { c: "command" },
  },
  run: async (ctx, { command, json }, typed) => {
    const location = parseTarget(typed ?? DEFAULT_TARGET);
    // a default must not need a daemon: `cli shell` also starts where there is nothing yet
    if (typed !== undefined) await requireLocation(ctx, location);
    const tables = createTableCache(ctx);
    const session = new Session({ ctx, location, tables, json });
    const isTyped = command === undefined && ctx.terminal.is_interactive;
    // later: the first command must not wait for the list of many tables
    const ahead = isTyped ? setTimeout(() => void tables.tables(databaseOf(location)), READ_AHEAD_MS) : undefined;
    const release = isTyped ? ctx.terminal.takeInterrupts(() => session.interrupt()) : undefined;
    const { add, source } = openSource(ctx, session, tables, command);
    const stop = () => source.close();
    ctx.signal.addEventListener("abort", stop);
    try {
      await readAll(ctx, session, source, add);
    } finally {
      clearTimeout(ahead);
      ctx.signal.removeEventListener("abort", stop);
      source.close();
      release?.();
    }
    ctx.process.exitCode = ctx.signal.aborted ? EXIT.interrupted : session.exit;
    return undefined;
  },
  render: () => undefined,
  exitCode: (_result, _flags, ctx) => Number(ctx.process.exitCode),
});

interface OpenSource {
  readonly source: LineSource;
  /** Keeps a typed line. */
  add(line: string): void;
}

function openSource(
  ctx: Context,
  session: Session,
  tables: ReturnType<typeof createTableCache>,
  command: readonly string[] | undefined,
): OpenSource {
  if (command !== undefined) return { source: readTexts(command), add: () => undefined };
  if (!ctx.terminal.is_interactive) return { source: readPiped(ctx.terminal), add: () => undefined };
  ctx.out.note("help lists what you can type; exit or Ctrl-D ends the shell.");
  const history = openUsableHistory(ctx);
  const source = readTyped(ctx.terminal, {
    history: history.lines,
    max_history: MAX_HISTORY,
    complete: (line) =>
      complete({ before: session.pending, line, location: session.location, commands: ctx.commands, tables }),
    isSecret: (line) => hasSecret(`${session.pending}${line}`),
  });
  return { source, add: history.add };
}

/** A home that cannot be written costs the history alone. */
function openUsableHistory({ config, out }: Pick<Context, "config" | "out">): History {
  try {
    const history = openHistory(config.home);
    let isUsable = true;
    return {
      lines: history.lines,
      add: (line) => {
        try {
          if (isUsable) history.add(line);
        } catch (error) {
          isUsable = false;
          out.note(`warning: This shell keeps no history: ${toMessage(error)}`);
        }
      },
    };
  } catch (error) {
    out.note(`warning: This shell has no history: ${toMessage(error)}`);
    return { lines: [], add: () => undefined };
  }
}

function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : toProblem(error).detail;
}

/** Reads and runs lines until the input or the shell ends. */
async function readAll(ctx: Context, session: Session, source: LineSource, add: OpenSource["add"]): Promise<void> {
  let interrupts = 0;
  while (!session.is_over && !ctx.signal.aborted) {
    const read = await source.next(session.prompt);
    if (read.kind === "end") {
      if (!ctx.signal.aborted) await session.finish();
      return;
    }
    if (read.kind === "interrupt") {
      const wasEmpty = read.was_empty && session.pending === "";
      session.clear();
      interrupts = wasEmpty ? interrupts + 1 : 0;
      if (interrupts === 2) return;
      if (wasEmpty) ctx.out.note("Ctrl-C again ends the shell.");
      continue;
    }
    interrupts = 0;
    if (!hasSecret(`${session.pending}${read.text}`)) add(read.text);
    await session.feed(read.text);
  }
}
