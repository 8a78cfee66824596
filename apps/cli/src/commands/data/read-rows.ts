import { readFileSync } from "node:fs";
import { extname, resolve } from "node:path";
import { type ExactJson, isObject, parseExact, printExact } from "@appdb/contract/clients/exact-json";
import { readCsv } from "@appdb/contract/clients/read-csv";
import { jsonOf } from "@appdb/contract/clients/typed-values";
import { appError } from "@appdb/contract/errors";
import type { DataTable } from "@appdb/contract/routes/data-api";
import type { Context } from "../../context.ts";
import { chosenColumns } from "./data-target.ts";

/** Byte order marks of other encodings. */
const MARKS: ReadonlyMap<string, string> = new Map([
  ["feff", "utf-16be"],
  ["fffe", "utf-16le"],
]);

/** Rows of a file as JSON objects. Each is at the index of its line, so that the server's errors name the line. */
export type Lines = readonly string[];

/**
 * Reads the rows of a file: JSON lines, a JSON array, or CSV by the file's ending; `-` is the input, in any of these.
 * @throws usage for a file that cannot be read, column_not_found for a header with another column
 */
export async function readRowFile(
  ctx: Pick<Context, "cwd" | "readInput">,
  typed: string,
  { path, table }: { readonly path: string; readonly table: DataTable },
): Promise<Lines> {
  const text = decode(await readBytes(ctx, typed), typed);
  const ending = extname(typed).toLowerCase();
  if (ending === ".csv" || ending === ".tsv") return csvLines(text, typed, { path, table });
  if (/^\s*\[/.test(text)) return arrayLines(text, typed);
  if (ending === ".json") return [singleRow(text, typed)];
  if (typed !== "-" || /^\s*\{/.test(text) || text.trim() === "") return text.split("\n");
  return csvLines(text, "the input", { path, table });
}

async function readBytes({ cwd, readInput }: Pick<Context, "cwd" | "readInput">, typed: string): Promise<Uint8Array> {
  if (typed === "-") {
    if (readInput !== undefined) return await readInput();
    throw appError("usage", {
      detail: "Nothing is piped in.",
      hint: "Pipe the rows in: cat rows.jsonl | cli insert main/docs -",
    });
  }
  try {
    return readFileSync(resolve(cwd, typed));
  } catch (cause) {
    throw appError("usage", {
      detail: `The file ${typed} cannot be read: ${cause instanceof Error ? cause.message : cause}.`,
      hint: "Use a file that you can read.",
      cause,
    });
  }
}

/** UTF-8, or UTF-16 with a byte order mark. */
function decode(bytes: Uint8Array, typed: string): string {
  const encoding = MARKS.get(Buffer.from(bytes.subarray(0, 2)).toString("hex")) ?? "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    throw appError("usage", {
      detail: `${typed === "-" ? "The input" : typed} is not ${encoding.toUpperCase()}.`,
      hint: "Save it as UTF-8.",
      cause,
    });
  }
}

function arrayLines(text: string, typed: string): Lines {
  const value = parsed(text, typed);
  if (!Array.isArray(value)) throw noRows(typed);
  return value.map((row) => {
    if (!isObject(row)) throw noRows(typed);
    return printExact(row);
  });
}

function singleRow(text: string, typed: string): string {
  const value = parsed(text, typed);
  if (!isObject(value)) throw noRows(typed);
  return printExact(value);
}

function parsed(text: string, typed: string): ExactJson {
  try {
    return parseExact(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw appError("usage", { detail: `${typed} is not JSON: ${reason}`, hint: "Correct the file.", cause });
  }
}

function noRows(typed: string): Error {
  return appError("usage", {
    detail: `${typed} has no rows: expected an array of JSON objects.`,
    hint: 'Write it like this: [{"title": "x"}]',
  });
}

function csvLines(
  text: string,
  name: string,
  { path, table }: { readonly path: string; readonly table: DataTable },
): Lines {
  const { header, rows } = readCsv(text, name);
  const columns = header.cells.map(({ text: column }) => {
    const [found] = chosenColumns(table, column, path);
    if (found === undefined) throw new TypeError("A column was not found.");
    return found;
  });
  const lines: string[] = [];
  for (const { cells, line } of rows) {
    while (lines.length < line - 1) lines.push("");
    const members = columns.map((column, at) => {
      const cell = cells[at] ?? { text: "", is_quoted: false };
      return `${JSON.stringify(column.name)}:${jsonOf(column, cell)}`;
    });
    lines.push(`{${members.join(",")}}`);
  }
  return lines;
}
