import { appError, toProblem } from "@appdb/contract/errors";
import type { Target } from "@appdb/contract/names";
import { openData } from "../commands/data/data-target.ts";
import type { Context } from "../context.ts";
import { alignColumns } from "../output/columns.ts";
import { EXIT, exitCodeOf } from "../output/exit-codes.ts";
import { BUILT_INS, expandShortcut, isExit } from "./built-ins.ts";
import { databaseOf, type Location, locationText, parseLocation } from "./location.ts";
import { findCommand } from "./parse-command.ts";
import { placeWords } from "./place-words.ts";
import { splitWords } from "./split-words.ts";
import { beginsSql, cutStatement, writesBySql } from "./sql-text.ts";
import type { TableCache } from "./table-cache.ts";

/** Commands that change neither tables nor databases. */
const READERS: ReadonlySet<string> = new Set([
  ..."ls describe columns indexes rows get count errors history export query".split(" "),
  ..."config status health limits whoami events doctor completions".split(" "),
]);

/** The command that runs a statement. */
const SQL_COMMAND = ["query", "run"] as const;

export interface SessionInput {
  readonly ctx: Context;
  readonly location: Location;
  readonly tables: TableCache;
  /** Each command prints JSON. */
  readonly json: boolean;
}

/** A shell between its lines: where it is, what is incomplete, and how its last failure ended. */
export class Session {
  readonly #input: SessionInput;
  #location: Location;
  #pending = "";
  #exit: number = EXIT.done;
  #isOver = false;
  #running: { readonly abort: AbortController; readonly abandon: () => void } | undefined;

  constructor(input: SessionInput) {
    this.#input = input;
    this.#location = input.location;
  }

  get location(): Location {
    return this.#location;
  }

  /** Lines of a statement or a quote that has not ended. */
  get pending(): string {
    return this.#pending === "" ? "" : `${this.#pending}\n`;
  }

  /** Whether `exit` was typed. */
  get is_over(): boolean {
    return this.#isOver;
  }

  /** Status of the last command that failed; 0 if none did. */
  get exit(): number {
    return this.#exit;
  }

  get prompt(): string {
    const place = locationText(this.#location);
    return this.#pending === "" ? `${place}> ` : `${"-".padStart(place.length)}> `;
  }

  /** Forgets an incomplete statement. */
  clear(): void {
    this.#pending = "";
  }

  /** Cancels the running command. A second call returns to the prompt without waiting for its end. */
  interrupt(): void {
    if (this.#running === undefined) return;
    if (this.#running.abort.signal.aborted) this.#running.abandon();
    this.#running.abort.abort();
  }

  /** Takes a line, and runs what is complete. */
  async feed(line: string): Promise<void> {
    const text = `${this.pending}${line}`;
    if (!beginsSql(text)) {
      const { open, words } = splitWords(text);
      this.#pending = open === undefined ? "" : text;
      if (open === undefined) await this.#runWords(words);
      return;
    }
    const cut = cutStatement(text);
    this.#pending = cut === undefined ? text : "";
    if (cut === undefined) return;
    await this.#runSql(cut.statement);
    if (cut.rest !== "" && !cut.rest.startsWith("--")) await this.feed(cut.rest);
  }

  /** Runs a statement whose semicolon is missing at the end of the input. */
  async finish(): Promise<void> {
    const text = this.#pending;
    this.#pending = "";
    if (beginsSql(text)) await this.#runSql(text.trim());
    else if (text !== "") {
      const { open } = splitWords(text);
      await this.#attempt(async () => {
        throw appError("usage", {
          detail: open === "\\" ? "The last line ends with a backslash." : `The quote ${open} is not closed.`,
          hint: open === "\\" ? "Remove the backslash, or add a line." : `Close it with ${open}.`,
        });
      });
    }
  }

  async #runWords(typed: readonly string[]): Promise<void> {
    const words = expandShortcut(typed);
    const [name, ...rest] = words;
    if (name === undefined) return;
    if (isExit(words)) this.#isOver = true;
    else if (name === "cd") await this.#attempt(async () => await this.#goTo(rest));
    else if (name === "pwd") this.#input.ctx.out.line(locationText(this.#location));
    else if (name === "shell" && !rest.includes("--help")) await this.#attempt(async () => refuseShell());
    else if (name === "psql" && !rest.includes("--help")) await this.#attempt(async () => refusePsql());
    else if (writesBySql(words)) await this.#attempt(async () => refuseWrites());
    else if (name.startsWith("\\")) await this.#attempt(async () => refuseShortcut(name));
    else if (name === "help" && rest.length === 0) await this.#help();
    else if (name === "help") await this.#run([...rest, "--help"]);
    else {
      await this.#attempt(async () => {
        await this.#run(this.#withJson(await placeWords(this.#input.ctx.commands, words, this.#location)));
      });
      if (!READERS.has(name)) this.#input.tables.refresh();
    }
  }

  async #runSql(statement: string): Promise<void> {
    const { commands } = this.#input.ctx;
    await this.#attempt(async () => {
      if (findCommand(commands, SQL_COMMAND)?.depth !== SQL_COMMAND.length) {
        throw appError("usage", {
          detail: "This version of the command runs no SQL.",
          hint: "Read rows of a table: rows TABLE",
        });
      }
      await this.#run(this.#withJson(await placeWords(commands, [...SQL_COMMAND, statement], this.#location)));
    });
  }

  #withJson(words: readonly string[]): readonly string[] {
    if (!this.#input.json || words.includes("--json")) return words;
    return words.toSpliced(findCommand(this.#input.ctx.commands, words)?.depth ?? words.length, 0, "--json");
  }

  async #goTo([path, ...more]: readonly string[]): Promise<void> {
    if (more.length > 0) throw appError("usage", { detail: "cd takes one path.", hint: `Go to it: cd ${path}` });
    const { ctx, location } = this.#input;
    const next = path === undefined ? location : parseLocation(this.#location, path);
    const status = await this.#whileRunning(async (running) => {
      if (next !== undefined) await requireLocation({ ...ctx, signal: running }, next);
      return EXIT.done;
    });
    if (status === EXIT.done) this.#location = next;
    else this.#exit = status;
  }

  async #help(): Promise<void> {
    const { out } = this.#input.ctx;
    for (const line of alignColumns(BUILT_INS)) out.line(line);
    out.line();
    out.line(
      "Every command of cli also works here, without cli. Paths begin where you are, or with / at this machine.",
    );
    out.line();
    await this.#run(["--help"]);
  }

  async #run(words: readonly string[]): Promise<void> {
    const { ctx } = this.#input;
    const status = await this.#whileRunning((signal) => ctx.runCommand(words, signal));
    if (status !== EXIT.done) this.#exit = status;
  }

  /** Runs what can be interrupted. The status of abandoned work is that of an interruption. */
  async #whileRunning(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
    const abort = new AbortController();
    const abandoned = new Promise<number>((resolve) => {
      this.#running = { abort, abandon: () => resolve(EXIT.interrupted) };
    });
    try {
      return await Promise.race([work(AbortSignal.any([abort.signal, this.#input.ctx.signal])), abandoned]);
    } finally {
      this.#running = undefined;
    }
  }

  /** Does the shell's own work; an error is printed, and the shell continues. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    const { ctx, json } = this.#input;
    try {
      await work();
    } catch (error) {
      const problem = toProblem(error);
      ctx.out.problem(problem, json);
      this.#exit = exitCodeOf(problem.code, false);
    }
  }
}

function refuseShell(): never {
  throw appError("usage", { detail: "You are in the shell already.", hint: "Go to another database: cd PATH" });
}

function refuseWrites(): never {
  throw appError("usage", {
    detail: "SQL here only reads. Nothing was changed.",
    hint: 'Change rows by the commands insert, update and delete: delete docs --where "id < 9"',
  });
}

function refuseShortcut(name: string): never {
  throw appError("usage", { detail: `The shell has no shortcut ${name}.`, hint: "List those that it has: help" });
}

/** Both would read what is typed. */
function refusePsql(): never {
  throw appError("usage", {
    detail: "psql does not run inside the shell.",
    hint: "Type the statement here, or exit and run: cli psql",
  });
}

/**
 * Checks that a database or folder exists. A database is not asked for its tables, which takes long if it has many.
 * @throws database_not_found; table_not_found for a table or a missing folder; errors of the daemon or the server
 */
export async function requireLocation(ctx: Context, target: Target): Promise<void> {
  const options = { signal: ctx.signal };
  if (target.folders.length > 0) {
    await requireFolder(ctx, target);
  } else if (target.kind === "hosted") {
    const { client } = await (await ctx.control()).open();
    const params = { org: target.uri.organization, db: target.uri.database };
    await client.call("databaseShow", { params }, options);
  } else {
    // the cheapest request that opens the database; a list of databases counts the tables of all of them
    await (await ctx.daemon.ensure()).call("jobList", { query: { target: target.database, all: "0" } }, options);
  }
}

async function requireFolder(ctx: Context, target: Target): Promise<void> {
  const { folders, tables } = await (await openData(ctx, target)).list();
  const folder = target.folders.join("/");
  if (folders.includes(folder) || tables.some(({ path }) => path.startsWith(`${folder}/`))) return;
  const isTable = tables.some(({ path }) => path === folder);
  throw appError("table_not_found", {
    detail: `${target.text} is ${isTable ? "a table" : "not a folder"}.`,
    hint: isTable ? `Show it: describe ${target.text}` : `List what there is: ls ${databaseOf(target)}`,
    meta: { target: target.text },
  });
}
