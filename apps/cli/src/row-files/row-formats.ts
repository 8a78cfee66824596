import { extname } from "node:path";
import { appError } from "@appdb/contract/errors";

/** What `--format` names. */
const FORMATS = ["csv", "jsonl", "parquet"] as const;
export type RowFormat = (typeof FORMATS)[number];

/** The formats of the endings of files' names. `npm run docs` writes these tables for the library too. */
export const ENDINGS: Readonly<Record<string, RowFormat>> = {
  ".csv": "csv",
  ".tsv": "csv",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".parquet": "parquet",
};

/** The ending of a JSON array, or of one object. */
export const ARRAY_ENDING = ".json";

/** Endings of files that are none of the formats. */
export const WORKBOOKS = [".xls", ".xlsm", ".xlsx"];

/** What a file's first bytes say, in Latin-1. A workbook is a ZIP archive. */
export const MARKS = { parquet: "PAR1", workbook: "PK\u0003\u0004", gzip: "\u001f\u008b" } as const;

/** The ending of a file's name in lower case; empty for none. */
export function endingOf(path: string): string {
  return extname(path).toLowerCase();
}

/** @throws Error with a message that the command-line parser prints */
export function parseFormat(input: string): RowFormat {
  const format = FORMATS.find((one) => one === input);
  if (format !== undefined) return format;
  throw new Error("expected csv, jsonl or parquet");
}

/** The format of a file's ending, or the chosen one for a file without a known ending. @throws usage if they differ */
export function knownFormat(path: string, chosen: RowFormat | undefined): RowFormat | undefined {
  const ending = endingOf(path);
  const own = ENDINGS[ending];
  if (chosen === undefined || own === undefined || own === chosen) return own ?? chosen;
  throw appError("usage", {
    detail: `${path} ends in ${ending}, and --format says ${chosen}.`,
    hint: `Name it with the ending .${chosen}, or choose: --format ${own}`,
  });
}
