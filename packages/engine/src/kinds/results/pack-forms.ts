import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { arrayToWire } from "../array-wire.ts";
import type { DescribeFile } from "./describe-file.ts";
import type { PackSheet } from "./pack-sheet.ts";

const LETTER_T = 0x74;
const MINUS = 0x2d;
const ZERO = 0x30;
/** Integers of so many characters are exact as numbers. */
const EXACT_CHARACTERS = 15;

/** Writes the value of a field from PostgreSQL's text. */
export type PackField = (sheet: PackSheet, row: Buffer, start: number, end: number) => void;

/** How results in msgpack take the values of a kind. */
export interface PackForm {
  /** Null: from the engine's value. */
  readonly field: PackField | null;
  /** Writes a value of the engine, which is not null. `describe` is for media only. */
  readonly value: (sheet: PackSheet, value: EngineValue, type: ColumnType, describe: DescribeFile) => void;
}

const asJson: PackForm["value"] = (sheet, value) => sheet.json(value);

export const PACKED_AS_JSON: PackForm = { field: null, value: asJson };
export const PACKED_TEXTS: PackForm = {
  field: (sheet, row, start, end) => sheet.textOf(row, start, end),
  value: asJson,
};
export const PACKED_INTS: PackForm = { field: packInt, value: asJson };
export const PACKED_FLOATS: PackForm = {
  field: (sheet, row, start, end) => sheet.double(Number(row.toString("latin1", start, end))),
  value: (sheet, value) => sheet.double(Number(value)),
};
export const PACKED_BOOLS: PackForm = {
  field: (sheet, row, start) => sheet.bool(row[start] === LETTER_T),
  value: asJson,
};
export const PACKED_ARRAYS: PackForm = {
  field: null,
  value: (sheet, value, type) => sheet.json(arrayToWire(value, type)),
};
export const PACKED_FILES: PackForm = {
  field: null,
  value: (sheet, value, _type, describe) => sheet.json(describe(String(value))),
};

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
