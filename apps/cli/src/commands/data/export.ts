import { resolve } from "node:path";
import { type ExactJson, type ExactObject, printExact } from "@appdb/contract/clients/exact-json";
import { isJsonColumn } from "@appdb/contract/clients/typed-values";
import { appError } from "@appdb/contract/errors";
import { MAX_ROWS } from "@appdb/contract/routes/api";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count } from "../../output/count.ts";
import { csvLine } from "../../output/csv.ts";
import { withAddresses } from "../../row-files/file-addresses.ts";
import { OutputFile } from "../../row-files/open-output.ts";
import { parquetColumn } from "../../row-files/parquet-columns.ts";
import { ENDINGS, endingOf, knownFormat, parseFormat, type RowFormat, WORKBOOKS } from "../../row-files/row-formats.ts";
import { text } from "../parameters.ts";
import { COLUMNS_FLAG, chosenColumns, openTable, readPage, TABLE, WHERE_FLAG, withColumns } from "./data-target.ts";

interface Flags extends JsonFlag {
  readonly format?: RowFormat;
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
  brief: "Write the rows of a table as CSV, JSON lines or Parquet, the newest first",
  examples: [
    ["cli export main/docs -o docs.csv", "all rows, as CSV"],
    ["cli export main/docs -o docs.parquet", "all rows, as Parquet"],
    ['cli export cloud://acme:main/docs --format jsonl --where "score > 0.5"', "some rows, a JSON object a line"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [TABLE] },
    flags: {
      format: {
        kind: "parsed",
        parse: parseFormat,
        optional: true,
        brief: "csv, jsonl or parquet; by default that of the file's name, otherwise csv",
        placeholder: "format",
      },
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
  run: async (ctx, { columns: typed, format: chosen, json, out, where }, named) => {
    if (json && out === undefined) {
      throw appError("usage", { detail: "--json describes a written file.", hint: "Name the file: -o docs.csv" });
    }
    const format = formatOf(out, chosen);
    if (format === "parquet" && out === undefined) {
      throw appError("usage", { detail: "Parquet is written to a file.", hint: "Name the file: -o docs.parquet" });
    }
    const { data, path, text: whole } = await openTable(ctx, named);
    const columns = chosenColumns(await data.table(path), typed, whole);
    const read = (cursor: string | undefined) =>
      data.rows(path, { limit: MAX_ROWS, cursor, where, order_by: undefined });
    const pages = readPages(read, columns);
    const how: Written = { format, separator: endingOf(out ?? "") === ".tsv" ? "\t" : "," };
    if (out !== undefined) {
      using file = new OutputFile(resolve(ctx.cwd, out));
      const rows = await file.fill(() => writeFile(file, how, pages, columns));
      return { path: whole, rows, file: out };
    }
    const print = async (lines: string) => {
      ctx.out.data(lines);
      await ctx.out.ready();
    };
    const rows = await writeText(print, how, pages, columns);
    ctx.out.note(`${whole}: ${count(rows, "row")}`);
    return undefined;
  },
  render: ({ file, path, rows }, out) => out.line(`${file}  ${count(rows, "row")} of ${path}`),
});

/**
 * The chosen format, otherwise that of the ending of a file's name; CSV without an ending.
 * @throws usage for an ending of another format, an unknown one, and .json, whose content is one document
 */
function formatOf(out: string | undefined, chosen: RowFormat | undefined): RowFormat {
  if (out === undefined) return chosen ?? "csv";
  const ending = endingOf(out);
  if (WORKBOOKS.includes(ending)) throw unknownEnding(out, ending);
  const known = knownFormat(out, chosen);
  if (known !== undefined) return known;
  if (ending === "") return "csv";
  if (ending !== ".json") throw unknownEnding(out, ending);
  throw appError("usage", {
    detail: `${out} could be JSON lines or CSV.`,
    hint: "Name it with the ending .jsonl, or choose: --format jsonl",
  });
}

function unknownEnding(out: string, ending: string): Error {
  return appError("usage", {
    detail: `${out} ends in ${ending}, which is not a format of cli export.`,
    hint: `Name it with one of the endings ${Object.keys(ENDINGS).join(", ")}.`,
  });
}

interface Written {
  readonly format: RowFormat;
  /** Of CSV. */
  readonly separator: "," | "\t";
}

interface Page {
  readonly rows: readonly ExactObject[];
  /** Characters of its JSON. */
  readonly length: number;
}

async function* readPages(
  read: (cursor: string | undefined) => Promise<string>,
  columns: DataTable["columns"],
): AsyncGenerator<Page, void> {
  let cursor: string | undefined;
  do {
    const text = await read(cursor);
    const page = readPage(text);
    yield { rows: page.rows.map((row) => withAddresses(row, columns)), length: text.length };
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
}

async function writeFile(
  file: OutputFile,
  how: Written,
  pages: AsyncIterable<Page>,
  columns: DataTable["columns"],
): Promise<number> {
  if (how.format !== "parquet") return await writeText(async (lines) => file.write(`${lines}\n`), how, pages, columns);
  const { createParquet } = await import("../../row-files/parquet.ts");
  const parquet = createParquet(file.file, columns, columns.map(parquetColumn));
  let count = 0;
  for await (const { length, rows } of pages) {
    await parquet.add(
      rows.map((row) => cellsOf(row, columns)),
      length,
    );
    count += rows.length;
  }
  await parquet.end();
  return count;
}

async function writeText(
  write: (lines: string) => Promise<void>,
  { format, separator }: Written,
  pages: AsyncIterable<Page>,
  columns: DataTable["columns"],
): Promise<number> {
  const isCsv = format === "csv";
  if (isCsv)
    await write(
      csvLine(
        columns.map(({ name }) => name),
        separator,
      ),
    );
  let count = 0;
  for await (const { rows } of pages) {
    const lines = rows.map((row) =>
      isCsv ? csvLine(csvCellsOf(row, columns), separator) : printExact(withColumns(row, columns)),
    );
    if (lines.length > 0) await write(lines.join("\n"));
    count += rows.length;
  }
  return count;
}

function cellsOf(row: ExactObject, columns: DataTable["columns"]): readonly ExactJson[] {
  return columns.map(({ name }) => row.get(name) ?? null);
}

/** A text of a Json column is JSON too, so that it comes back as the same text. */
function csvCellsOf(row: ExactObject, columns: DataTable["columns"]): readonly ExactJson[] {
  const cells = cellsOf(row, columns);
  return columns.map((column, at) => {
    const cell = cells[at] ?? null;
    return typeof cell === "string" && isJsonColumn(column) ? JSON.stringify(cell) : cell;
  });
}
