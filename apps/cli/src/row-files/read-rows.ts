import { CsvReader, type CsvRecord } from "@appdb/contract/clients/read-csv";
import { csvCell, isBrokenJson, jsonOf } from "@appdb/contract/clients/typed-values";
import { appError } from "@appdb/contract/errors";
import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";
import type { Context } from "../context.ts";
import { foldNames } from "./fold-names.ts";
import { ARRAY_ENDING, endingOf, knownFormat, type RowFormat, WORKBOOKS } from "./row-formats.ts";
import { ArraySplitter, objectLine } from "./split-array.ts";
import { isParquet, isRegularFile, notParquet, textPieces, workbook } from "./text-pieces.ts";

/** The name of piped rows in messages. */
const INPUT = "the input";
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
  /** Undefined: by the file's ending, or by its content. */
  readonly format?: RowFormat | undefined;
  /** Called for a file whose rows are not on lines of their own. */
  readonly countRows?: () => void;
}

/**
 * Reads the rows of a file, piece by piece: JSON lines, a JSON array, CSV or Parquet by the chosen format, the file's
 * ending or, without a known one, its content. `-` is the input: like a pipe, it has one of the first three.
 * @throws usage for a file that cannot be read, invalid_request for its content, column_not_found
 */
export async function* readRowFile(
  ctx: Pick<Context, "cwd" | "streamInput">,
  typed: string,
  wanted: Wanted,
): AsyncGenerator<readonly string[], void> {
  const isFile = typed !== "-" && (await isRegularFile(ctx, typed));
  const ending = endingOf(typed);
  if (WORKBOOKS.includes(ending)) throw workbook(typed);
  const format = knownFormat(typed, wanted.format);
  const isByContent = format === undefined && ending !== ARRAY_ENDING;
  if (isFile && (format === "parquet" || (isByContent && (await isParquet(ctx, typed))))) {
    const { parquetLines } = await import("./parquet.ts");
    wanted.countRows?.();
    yield* parquetLines(ctx, typed, (names) => columnsOf(names, typed, wanted));
    return;
  }
  const pieces = textPieces(ctx, typed, isFile);
  if (format === "csv") yield* csvLines(pieces, nameOf(typed), wanted);
  else yield* jsonOrCsv(pieces, typed, wanted, format);
}

/** The first of these: a JSON array, an object of a .json file, JSON lines, and CSV unless the format is known. */
async function* jsonOrCsv(
  pieces: AsyncGenerator<string, void>,
  typed: string,
  wanted: Wanted,
  format: RowFormat | undefined,
) {
  let head = "";
  while (head.trim() === "") {
    const next = await pieces.next();
    if (next.done === true) break;
    head += next.value;
  }
  if (format === "parquet") throw notParquet(typed);
  const all = withHead(head, pieces);
  const first = head.trimStart()[0];
  const isObject = endingOf(typed) === ARRAY_ENDING && format === undefined;
  if (first === "[" || isObject) wanted.countRows?.();
  if (first === "[") yield* foldNames(arrayLines(all, typed), "row", typed);
  else if (isObject) yield* foldNames(once(objectLine(await whole(all), typed)), "row", typed);
  else if (first === "{" || first === undefined || format !== undefined)
    yield* foldNames(plainLines(all, typed), "line", typed);
  else yield* csvLines(all, nameOf(typed), wanted);
}

function nameOf(typed: string): string {
  return typed === "-" ? INPUT : typed;
}

async function* withHead(head: string, rest: AsyncGenerator<string, void>) {
  yield head;
  yield* rest;
}

async function* once(line: string) {
  yield [line];
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
      throw appError("invalid_request", {
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
  let columns: readonly (DataColumn | undefined)[] | undefined;
  let line = 1;
  const print = (records: readonly CsvRecord[]) => {
    if (records.length === 0) return [];
    columns ??= headerOf(reader, name, wanted);
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
  columns ??= headerOf(reader, name, wanted);
  if (last.length > 0) yield last;
}

/** The columns of a header; undefined for one without a name, which has no values. */
function headerOf(reader: CsvReader, name: string, wanted: Wanted): readonly (DataColumn | undefined)[] {
  const names = reader.header().cells.map(({ text }) => text.trim());
  const found = columnsOf(
    names.filter((one) => one !== ""),
    name,
    wanted,
  )[Symbol.iterator]();
  return names.map((one) => (one === "" ? undefined : found.next().value));
}

/** @throws invalid_request for a cell of a Json column that is not JSON, and for one without a column */
function rowOf(columns: readonly (DataColumn | undefined)[], { cells, line }: CsvRecord, file: string): string {
  const members = columns.flatMap((column, at) => {
    const given = cells[at] ?? { text: "", is_quoted: false };
    if (column === undefined) {
      if (given.text === "") return [];
      throw appError("invalid_request", {
        detail: `${file}, line ${line}: ${JSON.stringify(given.text.slice(0, 80))} is in a column without a name. Nothing was inserted.`,
        hint: "Name the column in the first line, or remove it. pandas writes no such column with index=False.",
      });
    }
    const cell = csvCell(column, given);
    if (isBrokenJson(column, cell)) {
      throw appError("invalid_request", {
        detail: `${file}, line ${line}: ${JSON.stringify(cell.text.slice(0, 80))} is not JSON, which the column ${column.name} takes.`,
        hint: 'Write a text with quotes, which CSV doubles: """text""". Nothing was inserted.',
      });
    }
    return [`${JSON.stringify(column.name)}:${jsonOf(column, cell)}`];
  });
  return `{${members.join(",")}}`;
}

/** The table's columns by their names in a file. @throws column_not_found; invalid_request for a column that comes twice */
function columnsOf(names: readonly string[], file: string, { path, table }: Wanted): readonly DataColumn[] {
  const columns = names.map((name) => {
    const found = table.columns.find((column) => column.name === name.trim().toLowerCase());
    if (found !== undefined) return found;
    throw appError("column_not_found", {
      detail: `${path} has no column ${JSON.stringify(name)}. ${file === INPUT ? "The input" : `The file ${file}`} names it.`,
      hint: `It has ${table.columns.map((one) => one.name).join(", ")}.`,
      meta: { table: path, column: name },
    });
  });
  const twice = columns.find((column, at) => columns.indexOf(column) < at);
  if (twice === undefined) return columns;
  throw appError("invalid_request", {
    detail: `The header names the column ${twice.name} of ${path} twice. Nothing was inserted.`,
    hint: "Name each column once.",
  });
}
