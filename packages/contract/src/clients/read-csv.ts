import { appError } from "../errors.ts";

/** A record of a CSV file. An empty cell in quotes is a text; one without quotes has no value. */
export interface CsvRecord {
  /** Its first line, from 1. */
  readonly line: number;
  readonly cells: readonly CsvCell[];
}

export interface CsvCell {
  readonly text: string;
  readonly is_quoted: boolean;
}

const SEPARATORS = [",", ";", "\t"] as const;

/**
 * Parses CSV (RFC 4180) whose first record names the columns. The separator is the one that the header has: a comma,
 * a semicolon or a tab.
 * @throws usage with the line of a record with another number of cells, or with a quote that does not end
 */
export function readCsv(
  text: string,
  name: string,
): { readonly header: CsvRecord; readonly rows: readonly CsvRecord[] } {
  const [header, ...rows] = recordsOf(text, separatorOf(text), name);
  if (header === undefined) throw refused(`${name} is empty.`, "Begin the file with a line of column names.");
  for (const { cells, line } of rows) {
    if (cells.length === header.cells.length) continue;
    throw refused(
      `${name}, line ${line}: ${cells.length} cells, and the header has ${header.cells.length} columns.`,
      "Write a cell for each column. Put a cell with the separator into double quotes.",
    );
  }
  return { header, rows };
}

function separatorOf(text: string): string {
  const line = text.split(/\r?\n/, 1)[0] ?? "";
  const bare = line.replaceAll(/"(?:[^"]|"")*"/g, "");
  const counted = SEPARATORS.map((separator) => ({ separator, count: bare.split(separator).length }));
  return counted.reduce((best, one) => (one.count > best.count ? one : best)).separator;
}

function* recordsOf(text: string, separator: string, name: string): Generator<CsvRecord> {
  let line = 1;
  for (let at = 0; at < text.length; ) {
    const cells: CsvCell[] = [];
    const first = line;
    for (let isLast = false; !isLast; ) {
      const { cell, end, lines } = cellAt(text, at, separator, `${name}, line ${line}`);
      cells.push(cell);
      line += lines;
      isLast = text[end] !== separator;
      at = end + 1;
      if (isLast && text[end] === "\r" && text[end + 1] === "\n") at += 1;
    }
    line += 1;
    const isBlank = cells.length === 1 && cells[0]?.text === "" && !cells[0].is_quoted;
    if (!isBlank) yield { line: first, cells };
  }
}

function cellAt(text: string, at: number, separator: string, place: string) {
  if (text[at] !== '"') {
    let end = at;
    while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end += 1;
    return { cell: { text: text.slice(at, end), is_quoted: false }, end, lines: 0 };
  }
  let close = at + 1;
  while (close < text.length && (text[close] !== '"' || text[close + 1] === '"')) close += text[close] === '"' ? 2 : 1;
  const after = text[close + 1];
  if (close >= text.length) throw refused(`${place}: The quote that begins a cell does not end.`, 'Close it with ".');
  if (after !== undefined && after !== separator && after !== "\n" && after !== "\r") {
    throw refused(`${place}: Expected the end of the cell after its quote.`, 'Write a quote in a cell twice: "".');
  }
  const content = text.slice(at + 1, close);
  const lines = content.split("\n").length - 1;
  return { cell: { text: content.replaceAll('""', '"'), is_quoted: true }, end: close + 1, lines };
}

function refused(detail: string, hint: string): Error {
  return appError("usage", { detail, hint });
}
