import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { daysOf, EPOCH_DAYS, EPOCH_MICROS, microsOf } from "../results/arrow-columns.ts";
import { COLUMN_FORMS, type ColumnForm } from "./column-forms.ts";
import type { CopySheet } from "./copy-sheet.ts";

/** How COPY's binary format takes the values of a kind. */
export interface BinaryForm {
  /** The form whose values columns of the kind store as they are; null: they are parsed. */
  readonly column: ColumnForm | null;
  /** Writes a value of the engine as a field. */
  write(sheet: CopySheet, value: Exclude<EngineValue, null>, type: ColumnType): void;
}

const { b16, bytes, days, f64, i64, micros, u8, utf8 } = COLUMN_FORMS;
const HIGH = 32n;
const LOW = 0xffff_ffffn;

export const BINARY_INTS: BinaryForm = {
  column: i64,
  write: (sheet, value) => writeInt(sheet, BigInt(value as number)),
};
export const BINARY_FLOATS: BinaryForm = {
  column: f64,
  write(sheet, value) {
    sheet.int32(8);
    sheet.reserve(8);
    sheet.at = sheet.bytes.writeDoubleBE(Number(value), sheet.at);
  },
};
export const BINARY_BOOLS: BinaryForm = {
  column: u8,
  write(sheet, value) {
    sheet.int32(1);
    sheet.reserve(1);
    sheet.bytes[sheet.at++] = value === true ? 1 : 0;
  },
};
export const BINARY_TIMESTAMPS: BinaryForm = {
  column: micros,
  write: (sheet, value) => writeInt(sheet, microsOf(String(value)) - EPOCH_MICROS),
};
export const BINARY_DATES: BinaryForm = {
  column: days,
  write(sheet, value) {
    sheet.int32(4);
    sheet.int32(daysOf(String(value)) - EPOCH_DAYS);
  },
};
export const BINARY_UUIDS: BinaryForm = { column: b16, write: (sheet, value) => writeUuid(sheet, String(value)) };
export const BINARY_TEXTS: BinaryForm = { column: utf8, write: (sheet, value) => sheet.text(String(value)) };
/** Texts that are checked one by one. */
export const BINARY_CHECKED: BinaryForm = { ...BINARY_TEXTS, column: null };
export const BINARY_BYTES: BinaryForm = {
  column: bytes,
  write(sheet, value) {
    const data = value as Uint8Array;
    sheet.part(data, 0, data.length);
  },
};

function writeInt(sheet: CopySheet, value: bigint): void {
  sheet.word(Number(value >> HIGH), Number(value & LOW));
}

/** A UUID has hexadecimal digits in lower case, with hyphens. */
function writeUuid(sheet: CopySheet, text: string): void {
  sheet.int32(16);
  sheet.reserve(16);
  const { bytes } = sheet;
  let { at } = sheet;
  for (let from = 0; from < text.length; from += 2) {
    if (text.charCodeAt(from) === HYPHEN) from += 1;
    bytes[at++] = (digit(text.charCodeAt(from)) << 4) | digit(text.charCodeAt(from + 1));
  }
  sheet.at = at;
}

const HYPHEN = 0x2d;
const NINE = 0x39;

function digit(code: number): number {
  return code <= NINE ? code - 0x30 : code - 0x57;
}
