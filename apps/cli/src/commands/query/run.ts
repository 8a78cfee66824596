import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type ExactJson, printExact } from "@appdb/contract/clients/exact-json";
import { AppError, appError } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import type { ResultColumn } from "@appdb/contract/routes/data-queries";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { count } from "../../output/count.ts";
import { csvLine } from "../../output/csv.ts";
import { showControls } from "../../output/show-controls.ts";
import { parseCountUpTo, text } from "../parameters.ts";
import { cellsOf, type ResultEnd, type ResultReader, readResult } from "./read-result.ts";

/** Characters of a cell in a table. */
const LONGEST_CELL = 60;
/** Rows of a table, which is printed as a whole, without `--limit`. */
const TABLE_ROWS = 1_000;
const MOST_ROWS = 100_000_000;
const NDJSON = { accept: "application/x-ndjson" };

interface Flags extends JsonFlag {
  readonly target: string;
  readonly file?: string;
  readonly limit?: number;
  readonly csv: boolean;
  readonly explain: boolean;
}

export const run = defineCommand<Flags, [sql?: string], undefined>({
  brief: "Run SQL that reads, and show its rows",
  examples: [
    ['cli query "select id, title from docs order by id limit 5"', "rows of the local database main"],
    ["cli query run -f report.sql --target cloud://acme:main --csv", "a statement in a file, as CSV"],
    ['cli query --explain "select * from docs where id = 1"', "the plan, without running it"],
    ['echo "select count(*) from docs" | cli query run --json', "a statement from another program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The statement: one SELECT", placeholder: "SQL", parse: text, optional: true }],
    },
    flags: {
      target: {
        kind: "parsed",
        parse: text,
        default: "main",
        brief: "The database: main, main/reports, cloud://acme:main",
        placeholder: "TARGET",
      },
      file: { kind: "parsed", parse: text, optional: true, brief: "File with the statement", placeholder: "path" },
      limit: {
        kind: "parsed",
        parse: parseCountUpTo(MOST_ROWS),
        optional: true,
        brief: `Maximum rows; ${TABLE_ROWS} in a table, any number otherwise`,
        placeholder: "number",
      },
      csv: { kind: "boolean", brief: "Print the rows as CSV", default: false },
      explain: { kind: "boolean", brief: "Show PostgreSQL's plan without running the statement", default: false },
    },
    aliases: { f: "file" },
  },
  run: async (ctx, { csv, explain: isFlag, file, json, limit, target }, typed) => {
    if (csv && json) {
      throw appError("usage", { detail: "--csv and --json are two forms of the rows.", hint: "Give one of them." });
    }
    const given = await readStatement(ctx, typed, file);
    const sql = withoutExplain(given);
    const explain = isFlag || sql !== given;
    const since = performance.now();
    const isPlan = explain && !json && !csv;
    const printer = isPlan ? planPrinter((line) => ctx.out.line(line)) : choosePrinter(ctx, json, csv);
    const asked = limit ?? (json || csv ? undefined : TABLE_ROWS);
    const end = await send(ctx, { sql, target, limit: explain ? undefined : asked, explain }, printer).catch(
      (error: unknown) => {
        showPlace(ctx, sql, error);
        throw error;
      },
    );
    await printer.end(end);
    if (explain) return undefined;
    const more = end.has_more ? `; there are more${limit === undefined ? ": --limit" : ""}` : "";
    ctx.out.note(`${count(end.count, "row")}, ${Math.round(performance.now() - since)} ms${more}`);
    return undefined;
  },
  render: () => undefined,
});

/** The statement whose plan `explain select ...` asks for, at the same place. */
function withoutExplain(sql: string): string {
  return sql.replace(/^(\s*)explain(?=\s+(?:select|with|values|table)\b)/i, `$1${" ".repeat("explain".length)}`);
}

/** @throws usage without a statement, or with two */
async function readStatement(ctx: Context, typed: string | undefined, file: string | undefined): Promise<string> {
  const statement = await findStatement(ctx, typed, file);
  // the mark of editors that a file is UTF-8
  const sql = statement.replace(/^\uFEFF/, "");
  if (sql.trim() === "") throw isMissing();
  return sql;
}

async function findStatement(ctx: Context, typed: string | undefined, file: string | undefined): Promise<string> {
  if (typed !== undefined && file !== undefined) {
    throw appError("usage", {
      detail: "Two statements: one is typed, the other in a file.",
      hint: "Give one of them.",
    });
  }
  if (typed !== undefined) return typed;
  if (file !== undefined) return readFile(resolve(ctx.cwd, file));
  const input = await ctx.readInput?.();
  if (input !== undefined) return new TextDecoder().decode(input);
  throw isMissing();
}

function isMissing(): Error {
  return appError("usage", {
    detail: "The statement is missing.",
    hint: 'Give one: cli query "select * from docs limit 10"',
  });
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw appError("usage", { detail: `${path} cannot be read.`, hint: "Give a file with a statement.", cause });
  }
}

interface Asked {
  readonly sql: string;
  readonly target: string;
  readonly limit: number | undefined;
  readonly explain: boolean;
}

async function send(
  ctx: Context,
  { explain, limit, sql, target: typed }: Asked,
  reader: ResultReader,
): Promise<ResultEnd> {
  const target = parseTarget(typed);
  const body = { sql, folder: target.folders.join("/"), limit, ...(explain ? { explain } : {}) };
  const options = { signal: ctx.signal, headers: NDJSON };
  const open = async () => {
    if (target.kind === "local") {
      const client = await ctx.daemon.ensure();
      return await client.open("sqlRun", { params: { db: target.database }, body }, options);
    }
    const { client } = await (await ctx.control()).open();
    const params = { org: target.uri.organization, db: target.uri.database };
    return await client.open("sqlRun", { params, body }, options);
  };
  return await readResult((await open()).body ?? nothing(), reader, ctx.signal);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Shows the line of the statement that PostgreSQL refused. */
function showPlace(ctx: Context, sql: string, error: unknown): void {
  if (!(error instanceof AppError) || error.code !== "sql_refused") return;
  const { column, line } = error.meta;
  const refused = typeof line === "number" ? sql.split("\n")[line - 1] : undefined;
  if (refused === undefined || typeof column !== "number") return;
  ctx.out.note(showControls(refused));
  ctx.out.note(`${" ".repeat(column - 1)}^`);
}

interface Printer extends ResultReader {
  end(end: ResultEnd): void | Promise<void>;
}

function choosePrinter({ out }: Context, json: boolean, csv: boolean): Printer {
  const print = async (text: string) => {
    out.data(text);
    await out.ready();
  };
  if (json) return jsonPrinter(print);
  return csv ? csvPrinter(print) : tablePrinter(print);
}

/** Waits until the text is taken: rows arrive faster than a slow reader takes them. */
type Print = (text: string) => Promise<void>;

function jsonPrinter(print: Print): Printer {
  let isFirst = true;
  return {
    columns: async (columns) => await print(`{"columns":${JSON.stringify(columns)},"rows":[`),
    async rows(rows) {
      await print(isFirst ? rows : `,${rows}`);
      isFirst = false;
    },
    end: async (end) => await print(`],"count":${end.count},"has_more":${end.has_more}}`),
  };
}

function csvPrinter(print: Print): Printer {
  return {
    columns: async (columns) => await print(csvLine(columns.map(({ name }) => name))),
    async rows(rows) {
      const lines = cellsOf(rows).map((cells) => csvLine(cells));
      if (lines.length > 0) await print(lines.join("\n"));
    },
    end: () => undefined,
  };
}

/** The lines of a plan, whose spaces show its tree. */
function planPrinter(print: (line: string) => void): Printer {
  return {
    columns: () => undefined,
    rows(rows) {
      for (const [line = null] of cellsOf(rows)) print(showControls(String(line)));
    },
    end: () => undefined,
  };
}

/** A table is aligned, so its rows are collected first. */
function tablePrinter(print: Print): Printer {
  let names: readonly string[] = [];
  const lines: string[][] = [];
  return {
    columns(columns: readonly ResultColumn[]) {
      names = columns.map(({ name }) => showControls(name));
    },
    rows(rows) {
      for (const row of cellsOf(rows)) lines.push(row.map(shownCell));
    },
    async end() {
      for (const line of alignColumns([[...names], ...lines])) await print(line);
    },
  };
}

function shownCell(value: ExactJson): string {
  if (value === null) return "";
  const shown = showControls(typeof value === "string" ? value : printExact(value));
  return shown.length <= LONGEST_CELL ? shown : `${shown.slice(0, LONGEST_CELL - 3)}...`;
}
