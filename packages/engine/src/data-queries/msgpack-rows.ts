import type { ResultColumn } from "@appdb/contract/routes/data-queries";
import type { EngineValue } from "@appdb/contract/types";
import { kindOf } from "../kinds/kinds.ts";
import type { DescribeFile } from "../kinds/results/describe-file.ts";
import type { PackField } from "../kinds/results/pack-forms.ts";
import { PackSheet } from "../kinds/results/pack-sheet.ts";
import { readInt32 } from "../sql/read-int32.ts";
import type { RowsFormat } from "./rows-format.ts";

type Type = ResultColumn["type"];

const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;

/** Rows as msgpack, one message after the other. */
export const MSGPACK_ROWS: RowsFormat = {
  media_type: "application/msgpack",
  message: packMessage,
  begin(columns, describe) {
    const sheet = new PackSheet();
    const writers = columns.map(({ type }) => ({
      field: fieldPacker(type, describe),
      value: valuePacker(type, describe),
    }));
    let count = 0;
    let place = 0;
    const open = () => {
      if (count++ > 0) return;
      sheet.map(1);
      sheet.text("rows");
      place = sheet.openArray();
    };
    return {
      take_row(row, start) {
        open();
        sheet.array(writers.length);
        let at = start + FIELDS_BYTES;
        for (const { field } of writers) {
          const length = readInt32(row, at);
          at += LENGTH_BYTES;
          if (length < 0) sheet.nil();
          else {
            field(sheet, row, at, at + length);
            at += length;
          }
        }
      },
      takeValues(values) {
        open();
        sheet.array(writers.length);
        for (const [at, { value }] of writers.entries()) {
          const given = values[at] ?? null;
          if (given === null) sheet.nil();
          else value(sheet, given);
        }
      },
      get bytes() {
        return sheet.at;
      },
      flush() {
        if (count === 0) return undefined;
        sheet.setLength(place, count);
        count = 0;
        return sheet.take();
      },
      finish: () => undefined,
    };
  },
};

/** One message as msgpack. */
export function packMessage(message: object): Buffer {
  const sheet = new PackSheet();
  sheet.json(message);
  return sheet.take();
}

function fieldPacker(type: Type, describe: DescribeFile): PackField {
  const { fromSql, pack } = kindOf(type);
  if (pack.field !== null) return pack.field;
  return (sheet, row, start, end) => pack.value(sheet, fromSql(row.toString("utf8", start, end), type), type, describe);
}

function valuePacker(type: Type, describe: DescribeFile): (sheet: PackSheet, value: EngineValue) => void {
  const { value: write } = kindOf(type).pack;
  return (sheet, value) => write(sheet, value, type, describe);
}
