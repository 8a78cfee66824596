import { isAscii } from "node:buffer";
import type { ColumnType } from "@appdb/contract/types";
import type { Statement } from "../ports.ts";
import { readInt32 } from "../sql/read-int32.ts";
import type { Output } from "./query-plan.ts";
import { textWriter } from "./render-rows.ts";

type TakeRow = NonNullable<Statement["take_row"]>;

/** An answer's rows as they come from PostgreSQL, joined by commas. */
export interface JsonRows {
  readonly take_row: TakeRow;
  /** Forgets what was written. */
  readonly restart: () => void;
  readonly count: number;
  /** More rows than `most_bytes` holds came; those beyond are not there. */
  readonly is_full: boolean;
  /** The text of what was written. Nothing may be written after that. */
  finish(): string;
}

/**
 * Compiles the writer of rows that PostgreSQL alone makes: the same JSON as `compileRows` writes, byte for byte, without a
 * string for each field. `outputs` are the fields of the rows in order.
 */
export function compileJsonRows(
  outputs: readonly Pick<Output, "name" | "type">[],
  return_scalar: boolean,
): (most_bytes: number) => JsonRows {
  const isBare = return_scalar && outputs.length > 0;
  const fields = outputs.map(({ name, type }, at) => ({
    lead: Buffer.from(isBare ? "" : `${at === 0 ? "{" : ","}${JSON.stringify(name)}:`),
    write: fieldWriter(type),
  }));
  const end = Buffer.from(isBare ? "" : outputs.length === 0 ? "{}" : "}");
  /** Beyond PostgreSQL's own bytes of a row, whose lengths of fields make up for quotes and nulls. */
  const more = fields.reduce((sum, { lead }) => sum + lead.length + MORE, end.length + 1);
  // Written on again and again: memory outside of the heap for each answer would call for collections of the whole heap.
  const blank: Sheet[] = [];
  return (most_bytes) => {
    // Taken by the first row: most of those who begin wait for others.
    let sheet: Sheet | undefined;
    let count = 0;
    const take_row: TakeRow = (row, start, stop) => {
      sheet ??= blank.pop() ?? new Sheet();
      if (sheet.at > most_bytes) return;
      sheet.begin(stop - start + more);
      if (count++ > 0) sheet.add(COMMA);
      let at = start + FIELDS_BYTES;
      for (let index = 0; index < fields.length; index++) {
        const field = fields[index] as (typeof fields)[number];
        const length = readInt32(row, at);
        at += LENGTH_BYTES;
        sheet.copy(field.lead, 0, field.lead.length);
        if (length < 0) sheet.copy(NULL, 0, NULL.length);
        else {
          field.write(sheet, row, at, at + length);
          at += length;
        }
      }
      sheet.copy(end, 0, end.length);
    };
    return {
      take_row,
      restart() {
        count = 0;
        if (sheet !== undefined) sheet.at = 0;
      },
      get count() {
        return count;
      },
      get is_full() {
        return sheet !== undefined && sheet.at > most_bytes;
      },
      finish() {
        if (sheet === undefined) return "";
        const text = sheet.text();
        sheet.at = 0;
        if (blank.length < MOST_BLANK && sheet.bytes.length <= LARGEST_BLANK) blank.push(sheet);
        return text;
      },
    };
  };
}

/** Sheets that a query keeps for its next answers, and what one of them may hold. */
const MOST_BLANK = 4;
const LARGEST_BLANK = 256 * 1024;
const FIRST_BYTES = 4096;
const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;
/** What a value of one field may have more than PostgreSQL's text of it: quotes, the digits of a time, `.0`, null. */
const MORE = 16;
const NULL = Buffer.from("null");
const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ZERO = 0x30;
const POINT = 0x2e;
/** Longer pieces are copied by the runtime; below that its call costs more than a loop. */
const LONG = 48;

/** Bytes that grow. */
class Sheet {
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  at = 0;
  #of_row = 0;

  text(): string {
    const written = this.bytes.subarray(0, this.at);
    return written.toString(isAscii(written) ? "latin1" : "utf8");
  }

  /** Makes room for a row. */
  begin(most: number): void {
    this.#of_row = most;
    this.room(most);
  }

  /** Makes room for so many more bytes. */
  room(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.at + more));
    grown.set(this.bytes.subarray(0, this.at));
    this.bytes = grown;
  }

  /** Adds a byte for which there is room. */
  add(byte: number): void {
    this.bytes[this.at++] = byte;
  }

  /** Adds any text in place of PostgreSQL's, beside the row's room. */
  addText(text: string): void {
    this.room(text.length * 3 + this.#of_row);
    this.at += this.bytes.write(text, this.at);
  }

  /** Takes over bytes for which there is room. */
  copy(source: Buffer, start: number, end: number): void {
    if (end - start > LONG) {
      this.at += source.copy(this.bytes, this.at, start, end);
      return;
    }
    const { bytes } = this;
    let { at } = this;
    for (let from = start; from < end; from++) bytes[at++] = source[from] as number;
    this.at = at;
  }

  quoted(source: Buffer, start: number, end: number): void {
    this.bytes[this.at++] = QUOTE;
    this.copy(source, start, end);
    this.bytes[this.at++] = QUOTE;
  }
}

/** Writes one field, for whose text and a little more there is room. */
type FieldWriter = (sheet: Sheet, row: Buffer, start: number, end: number) => void;

function fieldWriter(type: ColumnType): FieldWriter {
  const writeText = textWriter(type);
  const other: FieldWriter = (sheet, row, start, end) => sheet.addText(writeText(row.toString("utf8", start, end)));
  switch (type.kind) {
    case "string":
      return (sheet, row, start, end) => writeString(sheet, row, start, end, other);
    case "int":
    case "json":
      return (sheet, row, start, end) => sheet.copy(row, start, end);
    case "float":
      return (sheet, row, start, end) => writeFloat(sheet, row, start, end, other);
    case "timestamp":
      return (sheet, row, start, end) => writeTimestamp(sheet, row, start, end, other);
    case "bool":
      return (sheet, row, start) => (row[start] === T ? sheet.copy(TRUE, 0, 4) : sheet.copy(FALSE, 0, 5));
    case "date":
    case "uuid":
      return (sheet, row, start, end) => sheet.quoted(row, start, end);
    default:
      return other;
  }
}

const T = "t".charCodeAt(0);

/** 1 for what JSON writes in another way: one look at it for each byte. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_none, byte) =>
  byte < SPACE || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

/** Copies up to the first character that JSON escapes; one that has such a character is written anew. */
function writeString(sheet: Sheet, row: Buffer, start: number, end: number, other: FieldWriter): void {
  const { bytes } = sheet;
  let { at } = sheet;
  bytes[at++] = QUOTE;
  for (let from = start; from < end; from++) {
    const byte = row[from] as number;
    if (ESCAPED[byte] === 1) {
      other(sheet, row, start, end);
      return;
    }
    bytes[at++] = byte;
  }
  bytes[at++] = QUOTE;
  sheet.at = at;
}

/** Digits, a sign and a point stand as they are; an exponent, an infinity or no number at all is another matter. */
function writeFloat(sheet: Sheet, row: Buffer, start: number, end: number, other: FieldWriter): void {
  const { bytes } = sheet;
  let { at } = sheet;
  let hasPoint = false;
  for (let from = start; from < end; from++) {
    const byte = row[from] as number;
    if (byte === POINT) hasPoint = true;
    else if (byte > NINE) {
      other(sheet, row, start, end);
      return;
    }
    bytes[at++] = byte;
  }
  if (!hasPoint) {
    bytes[at++] = POINT;
    bytes[at++] = ZERO;
  }
  sheet.at = at;
}

const NINE = 0x39;

/** `2024-01-02 03:04:05.6+00`, as sessions in UTC write it. */
function writeTimestamp(sheet: Sheet, row: Buffer, start: number, end: number, other: FieldWriter): void {
  const length = end - start - ZONE.length;
  const isPlain =
    (length === SECONDS || (length > SECONDS + 1 && length <= SECONDS + 7)) &&
    row[start + DAY] === SPACE &&
    row[end - 3] === ZONE[0] &&
    row[end - 2] === ZONE[1] &&
    row[end - 1] === ZONE[2];
  if (!isPlain) {
    other(sheet, row, start, end);
    return;
  }
  const { bytes } = sheet;
  const first = sheet.at + 1;
  sheet.quoted(row, start, start + length);
  bytes[first + DAY] = LETTER_T;
  let at = sheet.at - 1;
  if (length > SECONDS) for (let digits = length; digits < SECONDS + 7; digits++) bytes[at++] = ZERO;
  bytes[at++] = LETTER_Z;
  bytes[at++] = QUOTE;
  sheet.at = at;
}

const ZONE = Buffer.from("+00");
const DAY = "2024-01-02".length;
const SECONDS = "2024-01-02 03:04:05".length;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
