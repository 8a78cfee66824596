import { withReferences } from "../answers/media-addresses.ts";
import { JsonSheet } from "../kinds/json-sheet.ts";
import { kindOf } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import { fieldWriter } from "../queries/json-rows.ts";
import { readInt32 } from "../sql/read-int32.ts";
import type { RowsFormat } from "./rows-format.ts";

const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;
/** Extra bytes of a field beyond PostgreSQL's text, as in `compileJsonRows`, with its comma. */
const MORE = 17;
const NULL = Buffer.from("null");
const COMMA = 0x2c;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const BEGIN = Buffer.from('{"rows":[');
const END = Buffer.from("]}\n");

/** Rows as NDJSON, each message a line. Values have the forms of a route's response. */
export const NDJSON_ROWS: RowsFormat = {
  media_type: "application/x-ndjson",
  message: (message) => Buffer.from(`${JSON.stringify(message)}\n`),
  begin(columns, describe) {
    const sheet = new JsonSheet();
    const writers = columns.map(({ type }) => ({ field: fieldWriter(type), toJson: kindOf(type).toJson }));
    // a text of another column may contain the marks of a reference
    const hasFiles = columns.some(({ type }) => isMedia(type.kind));
    let count = 0;
    const open = (bytes: number) => {
      sheet.begin(bytes + writers.length * MORE + LENGTH_BYTES + BEGIN.length);
      if (count++ > 0) sheet.add(COMMA);
      else sheet.copy(BEGIN, 0, BEGIN.length);
      sheet.add(OPEN);
    };
    return {
      take_row(row, start, end) {
        open(end - start);
        let at = start + FIELDS_BYTES;
        for (const [index, { field }] of writers.entries()) {
          if (index > 0) sheet.add(COMMA);
          const length = readInt32(row, at);
          at += LENGTH_BYTES;
          if (length < 0) sheet.copy(NULL, 0, NULL.length);
          else {
            field(sheet, row, at, at + length);
            at += length;
          }
        }
        sheet.add(CLOSE);
      },
      takeValues(values) {
        open(0);
        const texts = writers.map(({ toJson }, at) => {
          const value = values[at] ?? null;
          return value === null ? "null" : toJson(value);
        });
        sheet.addText(texts.join(","));
        sheet.add(CLOSE);
      },
      get bytes() {
        return sheet.at;
      },
      flush() {
        if (count === 0) return undefined;
        count = 0;
        sheet.reserve(END.length);
        sheet.copy(END, 0, END.length);
        if (!hasFiles) return sheet.take();
        const text = sheet.text();
        sheet.at = 0;
        return Buffer.from(withReferences(text, (cell) => JSON.stringify(describe(cell))));
      },
      finish: () => undefined,
    };
  },
};
