import { extname } from "node:path";
import { CsvReader, type CsvRecord } from "@appdb/contract/clients/read-csv";
import { isBrokenJson, jsonOf } from "@appdb/contract/clients/typed-values";
import { appError } from "@appdb/contract/errors";
import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";
import { chosenColumns } from "../commands/data/data-target.ts";
import type { Context } from "../context.ts";
import { ArraySplitter, objectLine } from "./split-array.ts";
import { textPieces } from "./text-pieces.ts";

/** Characters of the longest line. */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Rows of a file as JSON objects, some lines at a time. Each line is the one of the file, so that the server's errors
 * name it; a line of a blank one is empty.
 */
export type Lines = AsyncIterable<readonly string[]>;

interface Wanted {
  readonly path: string;
  readonly table: DataTable;
}

/**
 * Reads the rows of a file, piece by piece: JSON lines, a JSON array, CSV or Parquet by the file's ending; `-` is the
 * input, in one of the first three.
 * @throws usage for a file that cannot be read, column_not_found for a column that the table lacks
 */
export async function* readRowFile(
  ctx: Pick<Context, "cwd" | "streamInput">,
  typed: string,
  wanted: Wanted,
): AsyncGenerator<readonly string[], void> {
  const ending = extname(typed).toLowerCase();
  if (ending === ".parquet") {
    const { parquetLines } = await import("./parquet.ts");
    yield* parquetLines(ctx, typed, (names) => columnsOf(names, wanted));
    return;
  }
  const pieces = textPieces(ctx, typed);
  if (ending === ".csv" || ending === ".tsv") yield* csvLines(pieces, typed, wanted);
  else yield* jsonOrCsv(pieces, typed, wanted);
}

async function* jsonOrCsv(pieces: AsyncGenerator<string, void>, typed: string, wanted: Wanted) {
  let head = "";
  while (head.trim() === "") {
    const next = await pieces.next();
    if (next.done === true) break;
    head += next.value;
  }
  const all = withHead(head, pieces);
  const first = head.trimStart()[0];
  if (first === "[") yield* arrayLines(all, typed);
  else if (extname(typed).toLowerCase() === ".json") yield [objectLine(await whole(all), typed)];
  else if (typed !== "-" || first === "{" || first === undefined) yield* plainLines(all, typed);
  else yield* csvLines(all, "the input", wanted);
}

async function* withHead(head: string, rest: AsyncGenerator<string, void>) {
  yield head;
  yield* rest;
}

async function whole(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

async function* plainLines(pieces: AsyncIterable<string>, name: string) {
  let rest = "";
  for await (const piece of pieces) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_LINE) {
      throw appError("usage", {
        detail: `${name} has a line of more than ${MAX_LINE} characters.`,
        hint: "Write one JSON object per line.",
      });
    }
    if (lines.length > 0) yield lines;
  }
  yield [rest];
}

async function* arrayLines(pieces: AsyncIterable<string>, typed: string) {
  const splitter = new ArraySplitter(typed);
  for await (const piece of pieces) {
    const lines = splitter.read(piece);
    if (lines.length > 0) yield lines;
  }
  splitter.end();
}

async function* csvLines(pieces: AsyncIterable<string>, name: string, wanted: Wanted) {
  const reader = new CsvReader(name);
  let columns: readonly DataColumn[] | undefined;
  let line = 1;
  const print = (records: readonly CsvRecord[]) => {
    if (records.length === 0) return [];
    columns ??= columnsOf(
      reader.header().cells.map(({ text }) => text),
      wanted,
    );
    const lines: string[] = [];
    for (const record of records) {
      for (; line < record.line; line += 1) lines.push("");
      lines.push(rowOf(columns, record, name));
      line += 1;
    }
    return lines;
  };
  for await (const piece of pieces) {
    const lines = print(reader.read(piece, false));
    if (lines.length > 0) yield lines;
  }
  const last = print(reader.read("", true));
  // also without rows, a column that the table lacks is an error
  columns ??= columnsOf(
    reader.header().cells.map(({ text }) => text),
    wanted,
  );
  if (last.length > 0) yield last;
}

/** @throws usage for a cell of a Json column that is not JSON */
function rowOf(columns: readonly DataColumn[], { cells, line }: CsvRecord, file: string): string {
  const members = columns.map((column, at) => {
    const cell = cells[at] ?? { text: "", is_quoted: false };
    if (isBrokenJson(column, cell)) {
      throw appError("usage", {
        detail: `${file}, line ${line}: ${JSON.stringify(cell.text.slice(0, 80))} is not JSON, which the column ${column.name} takes.`,
        hint: 'Write a text with quotes, which CSV doubles: """text""". Nothing was inserted.',
      });
    }
    return `${JSON.stringify(column.name)}:${jsonOf(column, cell)}`;
  });
  return `{${members.join(",")}}`;
}

/** The table's columns by their names in a file. @throws column_not_found; usage for a column that comes twice */
function columnsOf(names: readonly string[], { path, table }: Wanted): readonly DataColumn[] {
  const columns = names.map((name) => {
    const [found] = chosenColumns(table, name, path);
    if (found === undefined) throw new TypeError("A column was not found.");
    return found;
  });
  const twice = columns.find((column, at) => columns.indexOf(column) < at);
  if (twice === undefined) return columns;
  throw appError("usage", {
    detail: `The header names the column ${twice.name} of ${path} twice. Nothing was inserted.`,
    hint: "Name each column once.",
  });
}
