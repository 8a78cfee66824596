import type { ColumnType } from "@appdb/contract/types";
import { JsonSheet } from "../kinds/json-sheet.ts";
import type { FieldWriter } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { Statement } from "../ports.ts";
import type { QueryOutput } from "../query-plans/query-plan.ts";
import { readInt32 } from "../sql/read-int32.ts";

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
  outputs: readonly Pick<QueryOutput, "name" | "type">[],
  returnScalar: boolean,
): (mostBytes: number) => JsonRows {
  const isBare = returnScalar && outputs.length > 0;
  const fields = outputs.map(({ name, type }, at) => ({
    lead: Buffer.from(isBare ? "" : `${at === 0 ? "{" : ","}${JSON.stringify(name)}:`),
    write: fieldWriter(type),
  }));
  const close = outputs.length === 0 ? "{}" : "}";
  const end = Buffer.from(isBare ? "" : close);
  /** Beyond PostgreSQL's own bytes of a row, whose lengths of fields make up for quotes and nulls. */
  const more = fields.reduce((sum, { lead }) => sum + lead.length + MORE, end.length + 1);
  // Written on again and again: memory outside of the heap for each answer would call for collections of the whole heap.
  const blank: JsonSheet[] = [];
  return (mostBytes) => {
    // Taken by the first row: most of those who begin wait for others.
    let sheet: JsonSheet | undefined;
    let count = 0;
    const takeRow: TakeRow = (row, start, stop) => {
      sheet ??= blank.pop() ?? new JsonSheet();
      if (sheet.at > mostBytes) return;
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
        return sheet !== undefined && sheet.at > mostBytes;
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

/** Sheets that a query keeps for its next answers, and what one of them may hold. */
const MAX_BLANK = 4;
const LARGEST_BLANK = 256 * 1024;
const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;
/** What a value of one field may have more than PostgreSQL's text of it: quotes, the digits of a time, `.0`, null. */
const MORE = 16;
const NULL = Buffer.from("null");
const COMMA = 0x2c;

function fieldWriter(type: ColumnType): FieldWriter {
  const kind = kindOf(type);
  const write = kind.textWriter(type);
  return kind.fieldWriter((sheet, row, start, end) => sheet.addText(write(row.toString("utf8", start, end))));
}
