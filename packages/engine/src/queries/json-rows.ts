import type { ColumnType } from "@appdb/contract/types";
import { JsonSheet } from "../kinds/json-sheet.ts";
import type { FieldWriter } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { Statement } from "../ports.ts";
import type { QueryOutput } from "../query-plans/query-plan.ts";
import { readInt32 } from "../sql/read-int32.ts";

type TakeRow = NonNullable<Statement["take_row"]>;

/** The rows of a response as they arrive from PostgreSQL, joined by commas. */
export interface JsonRows {
  readonly take_row: TakeRow;
  /** Discards what was written. */
  readonly restart: () => void;
  readonly count: number;
  /** The rows exceeded `most_bytes`; the rest is missing. */
  readonly is_full: boolean;
  /** The written text. Nothing may be written after that. */
  finish(): string;
}

/**
 * Compiles the writer of rows from PostgreSQL alone. It writes the same JSON as `compileRows`, byte for byte, without a
 * string for each field. `outputs` are the fields of the rows in order.
 */
export function compileJsonRows(
  outputs: readonly Pick<QueryOutput, "name" | "type">[],
  returnScalar: boolean,
): (maxBytes: number) => JsonRows {
  const isBare = returnScalar && outputs.length > 0;
  const fields = outputs.map(({ name, type }, at) => ({
    lead: Buffer.from(isBare ? "" : `${at === 0 ? "{" : ","}${JSON.stringify(name)}:`),
    write: fieldWriter(type),
  }));
  const close = outputs.length === 0 ? "{}" : "}";
  const end = Buffer.from(isBare ? "" : close);
  /** In addition to PostgreSQL's bytes of a row, whose length fields make up for quotes and nulls. */
  const more = fields.reduce((sum, { lead }) => sum + lead.length + MORE, end.length + 1);
  // Reused buffers: new memory outside the heap for each response would trigger collections of the whole heap.
  const blank: JsonSheet[] = [];
  return (maxBytes) => {
    // Taken by the first row, because most callers first wait for others.
    let sheet: JsonSheet | undefined;
    let count = 0;
    const takeRow: TakeRow = (row, start, stop) => {
      sheet ??= blank.pop() ?? new JsonSheet();
      if (sheet.at > maxBytes) return;
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
      take_row: takeRow,
      restart() {
        count = 0;
        if (sheet !== undefined) sheet.at = 0;
      },
      get count() {
        return count;
      },
      get is_full() {
        return sheet !== undefined && sheet.at > maxBytes;
      },
      finish() {
        if (sheet === undefined) return "";
        const text = sheet.text();
        sheet.at = 0;
        if (blank.length < MAX_BLANK && sheet.bytes.length <= LARGEST_BLANK) blank.push(sheet);
        return text;
      },
    };
  };
}

/** Maximum number and size of the sheets that a query keeps for later responses. */
const MAX_BLANK = 4;
const LARGEST_BLANK = 256 * 1024;
const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;
/** Extra bytes of a field beyond PostgreSQL's text: quotes, the digits of a time, `.0`, null. */
const MORE = 16;
const NULL = Buffer.from("null");
const COMMA = 0x2c;

/** The writer of a field as JSON. */
export function fieldWriter(type: ColumnType): FieldWriter {
  const kind = kindOf(type);
  const write = kind.textWriter(type);
  return kind.fieldWriter((sheet, row, start, end) => sheet.addText(write(row.toString("utf8", start, end))));
}
