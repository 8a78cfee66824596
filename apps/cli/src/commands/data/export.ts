import { closeSync, openSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { printExact } from "@appdb/contract/clients/exact-json";
import { appError } from "@appdb/contract/errors";
import { MAX_ROWS } from "@appdb/contract/routes/api";
import type { Context } from "../../context.ts";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { csvLine } from "../../output/csv.ts";
import { text } from "../parameters.ts";
import { COLUMNS_FLAG, chosenColumns, openTable, readPage, TABLE, WHERE_FLAG, withColumns } from "./data-target.ts";

interface Flags extends JsonFlag {
  readonly format: string;
  readonly where?: string;
  readonly columns?: string;
  readonly out?: string;
}

interface Exported {
  readonly path: string;
  readonly rows: number;
  readonly file: string;
}

export const exportRows = defineCommand<Flags, [path: string], Exported | undefined>({
  brief: "Write the rows of a table as CSV or JSON lines, the newest first",
  examples: [
    ["cli export main/docs -o docs.csv", "all rows, as CSV"],
    ['cli export cloud://acme:main/docs --format jsonl --where "score > 0.5"', "some rows, a JSON object a line"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [TABLE] },
    flags: {
      format: { kind: "parsed", parse: parseFormat, default: "csv", brief: "csv or jsonl", placeholder: "format" },
      where: WHERE_FLAG,
      columns: COLUMNS_FLAG,
      out: {
        kind: "parsed",
        parse: text,
        optional: true,
        brief: "The file; the output by default",
        placeholder: "path",
      },
    },
    aliases: { o: "out" },
  },
  run: async (ctx, { columns: typed, format, json, out, where }, named) => {
    if (json && out === undefined) {
      throw appError("usage", { detail: "--json describes a written file.", hint: "Name the file: -o docs.csv" });
    }
    const { data, path, text: whole } = await openTable(ctx, named);
    const columns = chosenColumns(await data.table(path), typed, whole);
    const output = openOutput(ctx, out);
    let rows = 0;
    try {
      if (format === "csv") output.line(csvLine(columns.map(({ name }) => name)));
      let cursor: string | undefined;
      do {
        const query = { limit: MAX_ROWS, cursor, where, order_by: undefined };
        const page = readPage(await data.rows(path, query));
        for (const row of page.rows) {
          const isCsv = format === "csv";
          const line = isCsv
            ? csvLine(columns.map(({ name }) => row.get(name) ?? null))
            : printExact(withColumns(row, columns));
          output.line(line);
        }
        rows += page.rows.length;
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
    } finally {
      output.close();
    }
    if (out !== undefined) return { path: whole, rows, file: out };
    ctx.out.note(`${whole}: ${count(rows, "row")}`);
    return undefined;
  },
  render: ({ file, path, rows }, out) => out.line(`${file}  ${count(rows, "row")} of ${path}`),
});

/** @throws Error with a message that the command-line parser prints */
function parseFormat(input: string): string {
  if (input === "csv" || input === "jsonl") return input;
  throw new Error(
    input === "parquet"
      ? "parquet is not supported; write csv or jsonl, and convert it with pyarrow"
      : "expected csv or jsonl",
  );
}

function openOutput(ctx: Context, out: string | undefined): { line(text: string): void; close(): void } {
  if (out === undefined) return { line: (text) => ctx.out.line(text), close: () => undefined };
  const file = openFile(resolve(ctx.cwd, out));
  return { line: (text) => void writeSync(file, `${text}\n`), close: () => closeSync(file) };
}

function openFile(path: string): number {
  try {
    return openSync(path, "w");
  } catch (cause) {
    throw appError("usage", {
      detail: `${path} cannot be written.`,
      hint: "Name a file in a folder that exists.",
      cause,
    });
  }
}
