import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { parseTarget, shown, type Target } from "@appdb/contract/names";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { commandLine } from "../../output/command-line.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { type OpenPsql, openPsql } from "../../psql/open-session.ts";
import { text } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly write: boolean;
  readonly url: boolean;
}

const SIGNALLED = 128;
/** The status of psql without its connection. */
const CONNECTION_LOST = 2;
const REASON_MS = 1_000;

/** Exits with the status of psql. */
export const psql = defineCommand<Flags, string[], undefined>({
  brief: "Open psql with a role of its own that can only read, or a connection for other tools",
  examples: [
    ["cli psql main", "type SQL at the prompt of psql"],
    ["cli psql main -c 'select count(*) from docs'", "words after the target go to psql"],
    ["echo 'select 1' | cli psql cloud://acme:main", "statements from another program"],
    ["cli psql main --write", "with a role that inserts, updates and deletes rows"],
    ["cli psql main --url", "an address for pgAdmin, DBeaver or pandas, open until Ctrl-C"],
  ],
  parameters: {
    positional: {
      kind: "array",
      parameter: {
        brief: "The database: main, main/reports, cloud://acme:main; then words for psql",
        placeholder: "TARGET",
        parse: text,
      },
      minimum: 1,
    },
    flags: {
      write: { kind: "boolean", brief: "Also insert, update and delete rows", default: false },
      url: { kind: "boolean", brief: "Print an address instead of opening psql", default: false },
    },
  },
  run: async (ctx, { json, url, write }, named = "", ...words) => {
    const target = parseTarget(named);
    if (json) throw wrongOption("psql has no output as JSON.", "For rows as JSON: cli query --json");
    if (url && words.length > 0)
      throw wrongOption("--url opens no psql, which takes these words.", "Remove one of them.");
    refuseStatement(named, words);
    const program = url ? undefined : await ctx.findPsql();
    await using session = await openPsql(ctx, target, write);
    if (write) ctx.out.note(`This session writes rows of ${target.text}.`);
    ctx.process.exitCode =
      program === undefined
        ? await keepOpen(ctx, session, target)
        : await runPsql(ctx, session, { program, words: [...promptOf(target, write), ...words] });
    return undefined;
  },
  render: () => undefined,
  exitCode: (_result, _flags, ctx) => Number(ctx.process.exitCode),
});

/** psql would take the word as the name of another database. @throws usage */
function refuseStatement(named: string, [first, ...others]: readonly string[]): void {
  if (first === undefined || first.startsWith("-")) return;
  throw wrongOption(
    `'${shown(first)}' is not an option of psql, and ${named} is the database.`,
    `Run a statement with -c: ${commandLine(["psql", named, "-c", first, ...others])}`,
  );
}

async function keepOpen({ out, signal }: Context, session: OpenPsql, target: Target): Promise<number> {
  const { database, ended, ends_at: endsAt, host, password, port, user } = session;
  out.line(`postgresql://${user}:${password}@${host}:${port}/${encodeURIComponent(database)}?sslmode=disable`);
  out.note(`This address of ${target.text} is for programs of this machine, until Ctrl-C or ${endsAt}.`);
  const interrupted = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  const error = await Promise.race([interrupted, ended]);
  if (error !== undefined && !signal.aborted) throw error;
  return EXIT.interrupted;
}

/** Names the database, and what the session may do. */
function promptOf({ text: named }: Target, writes: boolean): readonly string[] {
  const place = `${named} ${writes ? "writes rows" : "only reads"}`.replaceAll("%", "%%");
  return ["-v", `PROMPT1=${place}%R%# `, "-v", `PROMPT2=${" ".repeat(place.length)}%R%# `];
}

interface Run {
  readonly program: string;
  readonly words: readonly string[];
}

async function runPsql(ctx: Context, session: OpenPsql, { program, words }: Run): Promise<number> {
  const env = { ...withoutPostgres(ctx.config.application_env), ...variablesOf(session) };
  // Ctrl-C cancels the statement in psql, which gets it from the terminal
  const release = ctx.terminal.takeInterrupts(() => undefined);
  const child = spawn(program, words, { cwd: ctx.cwd, env, stdio: "inherit" });
  const stop = () => child.kill("SIGTERM");
  ctx.signal.addEventListener("abort", stop);
  let error: Error | undefined;
  void session.ended.then((reason) => {
    error = reason;
  });
  try {
    const status = await statusOf(child);
    // the reason may arrive after psql has lost its connection
    if (status === CONNECTION_LOST) await Promise.race([session.ended, sleep(REASON_MS)]);
    // psql said that its connection was lost, and not why
    if (error !== undefined && status !== EXIT.done) ctx.out.note(error.message);
    return status;
  } finally {
    ctx.signal.removeEventListener("abort", stop);
    release();
  }
}

/** Options of psql for other servers, which are not for this one. */
function withoutPostgres(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^PG(?!CLIENTENCODING$|TZ$|DATESTYLE$)/.test(name)),
  );
}

function variablesOf({ database, host, password, port, user }: OpenPsql): Record<string, string> {
  return {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    PGSSLMODE: "disable",
    PGGSSENCMODE: "disable",
  };
}

async function statusOf(child: ChildProcess): Promise<number> {
  return await new Promise((resolve, reject) => {
    child.once("error", (cause) => {
      reject(appError("postgres_failed", { detail: `psql could not be started: ${cause.message}.`, cause }));
    });
    child.once("exit", (code, signal) =>
      resolve(code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}

function wrongOption(detail: string, hint: string): Error {
  return appError("usage", { detail, hint });
}
