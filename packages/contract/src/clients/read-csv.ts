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

/** Characters of the longest record: a quote that never ends must not fill the memory. */
const MAX_RECORD = 64 * 1024 * 1024;

/**
 * Parses CSV (RFC 4180) whose first record names the columns. The separator is the one that the header has: a comma,
 * a semicolon or a tab.
 * @throws invalid_request with the line of a record with another number of cells, or with a quote that does not end
 */
export function readCsv(
  text: string,
  name: string,
): { readonly header: CsvRecord; readonly rows: readonly CsvRecord[] } {
  const reader = new CsvReader(name);
  const rows = reader.read(text, true);
  return { header: reader.header(), rows };
}

/** Reads CSV piece by piece, by the rules of `readCsv`. */
export class CsvReader {
  readonly #name: string;
  #rest = "";
  #line = 1;
  #separator: string | undefined;
  #header: CsvRecord | undefined;
  /** Characters without which the record at the beginning of the rest cannot be complete. */
  #needed = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** The first record, which has been read once a row was. @throws invalid_request for an empty file */
  header(): CsvRecord {
    if (this.#header !== undefined) return this.#header;
    throw refused(`${this.#name} is empty.`, "Begin the file with a line of column names.");
  }

  /** The rows that are complete with this piece. */
  read(piece: string, isLast: boolean): CsvRecord[] {
    this.#rest += piece;
    if (!isLast && this.#rest.length < this.#needed) return [];
    if (this.#separator === undefined && !isLast && !/[\r\n]/.test(this.#rest)) return [];
    this.#separator ??= separatorOf(this.#rest);
    const rows: CsvRecord[] = [];
    let at = 0;
    while (at < this.#rest.length) {
      const found = recordAt(this.#rest, at, this.#separator, { name: this.#name, line: this.#line, isLast });
      if (found === undefined) break;
      const { cells, end, lines } = found;
      const isBlank = cells.length === 1 && cells[0]?.text === "" && !cells[0].is_quoted;
      if (!isBlank) this.#take({ line: this.#line, cells }, rows);
      this.#line += lines;
      at = end;
    }
    this.#rest = this.#rest.slice(at);
    // a long record is scanned again only when twice as much of it is there
    this.#needed = at === 0 ? this.#rest.length * 2 : 0;
    if (this.#rest.length > MAX_RECORD) {
      throw refused(
        `${this.#name}, line ${this.#line}: The record has more than ${MAX_RECORD} characters.`,
        'Close each cell that begins with " by another one.',
      );
    }
    return rows;
  }

  #take(record: CsvRecord, rows: CsvRecord[]): void {
    if (this.#header === undefined) {
      this.#header = record;
      return;
    }
    const { length } = this.#header.cells;
    if (record.cells.length !== length) {
      throw refused(
        `${this.#name}, line ${record.line}: ${record.cells.length} cells, and the header has ${length} columns.`,
        "Write a cell for each column. Put a cell with the separator into double quotes.",
      );
    }
    rows.push(record);
  }
}

function separatorOf(text: string): string {
  const line = text.split(/\r?\n/, 1)[0] ?? "";
  const bare = line.replaceAll(/"(?:[^"]|"")*"/g, "");
  const counted = SEPARATORS.map((separator) => ({ separator, count: bare.split(separator).length }));
  return counted.reduce((best, one) => (one.count > best.count ? one : best)).separator;
}

/** The record at a place of the text; undefined if more of the file is needed to know its end. */
function recordAt(
  text: string,
  start: number,
  separator: string,
  { isLast, line, name }: { readonly name: string; readonly line: number; readonly isLast: boolean },
): { readonly cells: readonly CsvCell[]; readonly end: number; readonly lines: number } | undefined {
  const cells: CsvCell[] = [];
  let lines = 1;
  for (let at = start; ; ) {
    if (!isLast && text[at] === '"' && closeOf(text, at) >= text.length - 1) return undefined;
    const found = cellAt(text, at, separator, `${name}, line ${line + lines - 1}`);
    const { cell, end } = found;
    const isReturn = text[end] === "\r";
    if (!isLast && (end >= text.length || (isReturn && end + 1 >= text.length))) return undefined;
    cells.push(cell);
    lines += found.lines;
    at = end + 1;
    if (text[end] === separator) continue;
    return { cells, end: isReturn && text[at] === "\n" ? at + 1 : at, lines };
  }
}

/** The place of the quote that ends a cell in quotes; the text's length without one. */
function closeOf(text: string, open: number): number {
  let close = open + 1;
  while (close < text.length && (text[close] !== '"' || text[close + 1] === '"')) close += text[close] === '"' ? 2 : 1;
  return close;
}

function cellAt(text: string, at: number, separator: string, place: string) {
  if (text[at] !== '"') {
    let end = at;
    while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end += 1;
    return { cell: { text: text.slice(at, end), is_quoted: false }, end, lines: 0 };
  }
  const close = closeOf(text, at);
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
  return appError("invalid_request", { detail, hint });
}
