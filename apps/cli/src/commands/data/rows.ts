import { type ExactObject, printExact } from "@appdb/contract/clients/exact-json";
import { MAX_ROWS } from "@appdb/contract/routes/api";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { cellText } from "../../output/cell-text.ts";
import { alignColumns } from "../../output/columns.ts";
import { commandLine } from "../../output/command-line.ts";
import { parseCountUpTo, text } from "../parameters.ts";
import { COLUMNS_FLAG, chosenColumns, openTable, readPage, TABLE, WHERE_FLAG, withColumns } from "./data-target.ts";

/** Characters of a cell in a list. */
const LONGEST_CELL = 60;

interface Flags extends JsonFlag {
  readonly limit: number;
  readonly columns?: string;
  readonly cursor?: string;
  readonly where?: string;
  readonly orderBy?: string;
}

interface Listed {
  readonly path: string;
  readonly columns: DataTable["columns"];
  readonly rows: readonly ExactObject[];
  readonly next: string | null;
}

export const rows = defineCommand<Flags, [path: string], Listed | undefined>({
  brief: "Show rows of a table, the newest first",
  examples: [
    ["cli rows main/docs", "the ten newest rows"],
    ["cli rows main/docs -n 50 --columns id,title", "some columns of 50 rows"],
    [`cli rows main/docs --where "title like 'x%'" --order-by score:desc`, "the best of some rows"],
    ["cli rows cloud://acme:main/docs --json", "rows of a hosted table, for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [TABLE] },
    flags: {
      limit: {
        kind: "parsed",
        parse: parseCountUpTo(MAX_ROWS),
        default: "10",
        brief: `Number of rows, at most ${MAX_ROWS}`,
        placeholder: "number",
      },
      columns: COLUMNS_FLAG,
      where: WHERE_FLAG,
      orderBy: {
        kind: "parsed",
        parse: text,
        optional: true,
        brief: "Sort by a column: score, score:desc (default: the newest first)",
        placeholder: "column",
      },
      cursor: { kind: "parsed", parse: text, optional: true, brief: "Where the page begins", placeholder: "text" },
    },
    aliases: { n: "limit" },
  },
  run: async (ctx, { columns: typed, cursor, json, limit, orderBy: order, where }, named) => {
    const { data, path, text: whole } = await openTable(ctx, named);
    const [table, page] = await Promise.all([
      data.table(path),
      data.rows(path, { limit, cursor, where, order_by: order }),
    ]);
    const columns = chosenColumns(table, typed, whole);
    const { next, rows: found } = readPage(page);
    const listed = { path: whole, columns, rows: found.map((row) => withColumns(row, columns)), next };
    if (!json) return listed;
    ctx.out.jsonText(
      printExact(
        new Map<string, ExactObject[] | string | null>([
          ["rows", listed.rows],
          ["next", next],
        ]),
        2,
      ),
    );
    return undefined;
  },
  render: ({ columns, next, path, rows: found }, out, { limit, orderBy: order, where }) => {
    if (found.length === 0) {
      out.note(`${path} has no rows.`);
      return;
    }
    const cells = found.map((row) => columns.map((column) => cellText(row, column, LONGEST_CELL)));
    for (const line of alignColumns([columns.map(({ name }) => name), ...cells])) out.line(line);
    if (next !== null) {
      const sameRows = [
        ...(where === undefined ? [] : ["--where", where]),
        ...(order === undefined ? [] : ["--order-by", order]),
      ];
      out.note(`more: ${commandLine(["rows", path, "-n", String(limit), ...sameRows, "--cursor", next])}`);
    }
  },
});
