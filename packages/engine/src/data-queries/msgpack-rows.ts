import type { ResultColumn } from "@appdb/contract/routes/data-queries";
import type { EngineValue } from "@appdb/contract/types";
import { kindOf } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import { readInt32 } from "../sql/read-int32.ts";
import { PackSheet } from "./pack-sheet.ts";
import type { DescribeFile, RowsFormat } from "./rows-format.ts";

type Type = ResultColumn["type"];
/** Writes the value of a field from PostgreSQL's text. */
type PackField = (sheet: PackSheet, row: Buffer, start: number, end: number) => void;

const FIELDS_BYTES = 2;
const LENGTH_BYTES = 4;
const LETTER_T = 0x74;
const MINUS = 0x2d;
const ZERO = 0x30;
/** Integers of so many characters are exact as numbers. */
const EXACT_CHARACTERS = 15;

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
  switch (type.kind) {
    case "int":
      return packInt;
    case "float":
      return (sheet, row, start, end) => sheet.double(Number(row.toString("latin1", start, end)));
    case "bool":
      return (sheet, row, start) => sheet.bool(row[start] === LETTER_T);
    case "string":
    case "uuid":
      return (sheet, row, start, end) => sheet.textOf(row, start, end);
    default: {
      const { fromSql } = kindOf(type);
      const pack = valuePacker(type, describe);
      return (sheet, row, start, end) => pack(sheet, fromSql(row.toString("utf8", start, end), type));
    }
  }
}

function packInt(sheet: PackSheet, row: Buffer, start: number, end: number): void {
  if (end - start > EXACT_CHARACTERS) {
    sheet.int(BigInt(row.toString("latin1", start, end)));
    return;
  }
  const isNegative = row[start] === MINUS;
  let value = 0;
  for (let at = isNegative ? start + 1 : start; at < end; at++) value = value * 10 + ((row[at] as number) - ZERO);
  sheet.int(isNegative ? -value : value);
}

/** Writes a value of the engine, which is not null. */
function valuePacker(type: Type, describe: DescribeFile): (sheet: PackSheet, value: EngineValue) => void {
  if (isMedia(type.kind)) return (sheet, value) => sheet.json(describe(String(value)));
  if (type.kind === "float") return (sheet, value) => sheet.double(Number(value));
  const { wire } = kindOf(type);
  if (type.kind === "array" && wire !== null) return (sheet, value) => sheet.json(wire.to(value, type));
  return (sheet, value) => sheet.json(value);
}
