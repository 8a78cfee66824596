import { AppError, appError } from "@appdb/contract/errors";
import type { CellErrorRecord, TableErrors } from "@appdb/contract/jobs";
import { isHosted, parseTablePath, parseTarget, shownTablePath } from "@appdb/contract/names";
import { shownFunction } from "@appdb/contract/operators";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { commandLine } from "../../output/command-line.ts";
import { count } from "../../output/count.ts";
import type { Output } from "../../output/output.ts";
import { showControls } from "../../output/show-controls.ts";
import { parseCount, text } from "../parameters.ts";
import { openWork } from "../work-target.ts";

const LONGEST_MESSAGE = 160;

interface Flags extends JsonFlag {
  readonly column?: string;
  readonly limit: number;
}

/**
 * Lists a target's tables with counts, or one table's cells. `main/reports` may be either: the daemon looks for a table
 * first.
 */
export const errors = defineCommand<Flags, [path: string], TableErrors[]>({
  brief: "List computed cells that failed",
  examples: [
    ["cli errors main", "number of failing cells by table"],
    ["cli errors main/docs", "the failing cells of a table: key, column, error"],
    ["cli errors cloud://acme:main/docs", "failing cells of a hosted table"],
    ["cli errors main/docs --column summary --json", "those of one column, for a program"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "A database, or one table: main, main/docs", placeholder: "TARGET[/TABLE]", parse: text }],
    },
    flags: {
      column: { kind: "parsed", parse: text, optional: true, brief: "Only this column", placeholder: "name" },
      limit: {
        kind: "parsed",
        parse: parseCount,
        default: "100",
        brief: "Maximum number of cells",
        placeholder: "number",
      },
    },
  },
  run: async (ctx, flags, typed) => {
    const { column, limit } = flags;
    const isDotted = !isHosted(typed) && typed.includes(".");
    const target = parseTarget(isDotted ? parseTablePath(typed).text : typed);
    if (target.folders.length === 0) {
      if (column !== undefined) throw columnOfNoTable(target.text, column);
      return await (await openWork(ctx, target)).errors({ table: undefined, column, limit });
    }
    const cut = target.text.lastIndexOf("/");
    const work = await openWork(ctx, parseTarget(target.text.slice(0, cut)));
    const request = { table: target.text.slice(cut + 1), column: column?.toLowerCase(), limit };
    const tables = await work.errors(request).catch((error: unknown) => {
      throw error instanceof AppError ? asTyped(error, target.text, typed) : error;
    });
    return tables.map((table) =>
      table.table === target.text ? { ...table, table: shownTablePath(typed, table.table) } : table,
    );
  },
  render: (tables, out) => {
    const failing = tables.filter((table) => table.rows > 0);
    for (const table of failing) printTable(table, out);
    if (failing.length === 0) out.note("No cell has failed.");
  },
});

/** An error that names a local table's path as the user typed it. */
function asTyped(error: AppError, path: string, typed: string): AppError {
  const detail = error.message.replaceAll(path, shownTablePath(typed, path));
  return appError(error.code, { detail, hint: error.hint, meta: error.meta, cause: error });
}

function columnOfNoTable(target: string, column: string): AppError {
  return appError("usage", {
    detail: `--column ${column} belongs to one table, but ${target} is a database.`,
    hint: `Name the table: ${commandLine(["errors", `${target}/TABLE`, "--column", column])}`,
  });
}

function printTable(table: TableErrors, out: Output): void {
  const counts = Object.entries(table.counts).map(([column, cells]) => `${column}: ${cells}`);
  out.line(`${table.table}  ${count(table.rows, "row")} with failing cells  (${counts.join(", ")})`);
  const cells = table.errors.map((error) => [
    showControls(Object.values(error.key).map(String).join(", ")),
    error.column,
    error.errortype,
    `${showControls(shorten(error.errormsg))}${locationOf(error)}`,
  ]);
  for (const line of alignColumns(cells)) out.line(`    ${line}`);
  const all = Object.values(table.counts).reduce((sum, cells) => sum + cells, 0);
  if (table.errors.length > 0 && table.errors.length < all)
    out.note(`${all - table.errors.length} more: --limit ${all}`);
}

function locationOf({ function: name, cause }: CellErrorRecord): string {
  return name === null || cause !== null ? "" : `  (${shownFunction(name)})`;
}

function shorten(message: string): string {
  const line = message.replace(/\s+/g, " ");
  return line.length <= LONGEST_MESSAGE ? line : `${line.slice(0, LONGEST_MESSAGE - 3)}...`;
}
