import { exportedAddress } from "@appdb/contract/media";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { arrayFromSql } from "../array-sql.ts";
import { DTYPES, dtypeOf } from "../dtypes.ts";
import { ArrayColumn } from "./arrow-lists.ts";
import {
  type ArrowColumn,
  type ArrowType,
  type BatchParts,
  BINARY,
  BOOL,
  DATE32,
  FLOAT64,
  INT64,
  TIMESTAMP,
  takeValidity,
  UTF8,
} from "./arrow-types.ts";
import { Bits, Bytes, Validity, Words } from "./arrow-vectors.ts";
import type { DescribeFile } from "./describe-file.ts";
import { OutsideType } from "./outside-type.ts";

/** How results in Arrow's format take the values of a kind. */
export interface ArrowForm {
  /** The type whose binary format PostgreSQL sends. */
  readonly sent: (type: ColumnType) => string;
  /** Makes the column of a type. `describe` is for media only. */
  readonly column: (type: ColumnType, describe: DescribeFile) => ArrowColumn;
}

export const INTS: ArrowForm = { sent: () => "int8", column: () => new WordColumn(INT64, BigInt) };
export const FLOATS: ArrowForm = { sent: () => "float8", column: () => new WordColumn(FLOAT64, Number) };
export const BOOLS: ArrowForm = { sent: () => "bool", column: () => new BoolColumn() };
export const BYTES: ArrowForm = { sent: () => "bytea", column: () => new TextColumn(BINARY, null) };
export const TEXTS: ArrowForm = { sent: () => "text", column: () => new TextColumn(UTF8, null) };
export const ADDRESSES: ArrowForm = {
  sent: () => "text",
  column: (_type, describe) => new TextColumn(UTF8, (cell) => exportedAddress(describe(cell))),
};
export const TIMESTAMPS: ArrowForm = {
  sent: () => "timestamptz",
  column: () => new FixedColumn(TIMESTAMP, 8, copyTimestamp, (to, value) => to.bigint(microsOf(String(value)))),
};
export const DATES: ArrowForm = {
  sent: () => "date",
  column: () => new FixedColumn(DATE32, 4, copyDate, (to, value) => to.int32(daysOf(String(value)))),
};
/** Vectors are arrays, and arrays of any shape are texts. */
export const ARRAYS: ArrowForm = {
  sent: (type) => (type.shape == null ? "text" : `${DTYPES[dtypeOf(type)].storage}[]`),
  column(type) {
    const dtype = dtypeOf(type);
    if (type.shape != null) return new ArrayColumn(type, dtype);
    return new TextColumn(
      UTF8,
      (text) => arrayFromSql(dtype, text),
      (value) => String(value),
    );
  },
};

type CopyField = (to: Bytes, row: Buffer, start: number) => void;
type WriteValue = (to: Bytes, value: Exclude<EngineValue, null>) => void;

/** Values of one width. */
class FixedColumn implements ArrowColumn {
  readonly type: ArrowType;
  readonly #width: number;
  readonly #copy: CopyField;
  readonly #write: WriteValue;
  readonly #valid = new Validity();
  readonly #values = new Bytes();

  constructor(type: ArrowType, width: number, copy: CopyField, write: WriteValue) {
    this.type = type;
    this.#width = width;
    this.#copy = copy;
    this.#write = write;
  }

  get bytes(): number {
    return this.#values.at;
  }

  addNull(): void {
    this.#valid.add(false);
    this.#values.zeros(this.#width);
  }

  addField(row: Buffer, start: number): void {
    this.#valid.add(true);
    this.#copy(this.#values, row, start);
  }

  addValue(value: Exclude<EngineValue, null>): void {
    this.#valid.add(true);
    this.#write(this.#values, value);
  }

  take({ buffers, nodes }: BatchParts): void {
    takeValidity(this.#valid, { buffers, nodes });
    buffers.push(this.#values.take());
  }
}

/** Int and Float: the eight bytes of PostgreSQL's value in the other order. */
class WordColumn implements ArrowColumn {
  readonly type: ArrowType;
  readonly #numberOf: (value: number) => number | bigint;
  readonly #one = new DataView(new ArrayBuffer(8));
  readonly #valid = new Validity();
  readonly #values = new Words();

  constructor(type: ArrowType, numberOf: (value: number) => number | bigint) {
    this.type = type;
    this.#numberOf = numberOf;
  }

  get bytes(): number {
    return this.#values.bytes;
  }

  addNull(): void {
    this.#valid.add(false);
    this.#values.add(0, 0);
  }

  addField(row: Buffer, start: number): void {
    this.#valid.add(true);
    this.#values.copy(row, start);
  }

  addValue(value: Exclude<EngineValue, null>): void {
    const number = this.#numberOf(value as number);
    if (typeof number === "bigint") this.#one.setBigInt64(0, number);
    else this.#one.setFloat64(0, number);
    this.#valid.add(true);
    this.#values.add(this.#one.getInt32(4), this.#one.getInt32(0));
  }

  take({ buffers, nodes }: BatchParts): void {
    takeValidity(this.#valid, { buffers, nodes });
    buffers.push(this.#values.take());
  }
}

class BoolColumn implements ArrowColumn {
  readonly type = BOOL;
  readonly #valid = new Validity();
  readonly #values = new Bits();

  get bytes(): number {
    return this.#values.length >> 3;
  }

  addNull(): void {
    this.#valid.add(false);
    this.#values.add(false);
  }

  addField(row: Buffer, start: number): void {
    this.#valid.add(true);
    this.#values.add(row[start] === 1);
  }

  addValue(value: Exclude<EngineValue, null>): void {
    this.#valid.add(true);
    this.#values.add(value === true);
  }

  take({ buffers, nodes }: BatchParts): void {
    takeValidity(this.#valid, { buffers, nodes });
    buffers.push(this.#values.take());
  }
}

/** Texts, or bytes. */
class TextColumn implements ArrowColumn {
  readonly type: ArrowType;
  readonly #ofField: ((text: string) => string) | null;
  readonly #ofValue: ((value: string) => string) | null;
  readonly #valid = new Validity();
  readonly #ends = new Bytes();
  readonly #values = new Bytes();

  /** `ofField` changes PostgreSQL's text, `ofValue` the engine's; null for none. */
  constructor(
    type: ArrowType,
    ofField: ((text: string) => string) | null,
    ofValue: ((value: string) => string) | null = ofField,
  ) {
    this.type = type;
    this.#ofField = ofField;
    this.#ofValue = ofValue;
  }

  get bytes(): number {
    return this.#values.at + this.#ends.at;
  }

  addNull(): void {
    this.#begin(false);
    this.#ends.int32(this.#values.at);
  }

  addField(row: Buffer, start: number, end: number): void {
    this.#begin(true);
    if (this.#ofField === null) this.#values.copy(row, start, end);
    else this.#values.text(this.#ofField(row.toString("utf8", start, end)));
    this.#ends.int32(this.#values.at);
  }

  addValue(value: Exclude<EngineValue, null>): void {
    this.#begin(true);
    if (value instanceof Uint8Array) this.#values.copy(value, 0, value.length);
    else this.#values.text(this.#ofValue === null ? String(value) : this.#ofValue(String(value)));
    this.#ends.int32(this.#values.at);
  }

  take({ buffers, nodes }: BatchParts): void {
    takeValidity(this.#valid, { buffers, nodes });
    if (this.#ends.at === 0) this.#ends.int32(0);
    buffers.push(this.#ends.take(), this.#values.take());
  }

  #begin(isValid: boolean): void {
    if (this.#ends.at === 0) this.#ends.int32(0);
    this.#valid.add(isValid);
  }
}

export const DAY_MS = 86_400_000;
/** From 1970, where Arrow begins, to 2000, where PostgreSQL begins. */
export const EPOCH_DAYS = 10_957;
export const EPOCH_MICROS = BigInt(EPOCH_DAYS) * BigInt(DAY_MS) * 1000n;

/** Days of the years 1 to 9999, from 1970. */
const [FIRST_DAY, LAST_DAY] = [-719_162, 2_932_896];
const [FIRST_MICRO, END_MICRO] = [microsOfDay(FIRST_DAY), microsOfDay(LAST_DAY + 1)];
/** PostgreSQL's values for `infinity` and `-infinity`. */
const INFINITE_MICROS = [2n ** 63n - 1n, -(2n ** 63n)];
const INFINITE_DAYS = [2 ** 31 - 1, -(2 ** 31)];

function microsOfDay(day: number): bigint {
  return BigInt(day) * BigInt(DAY_MS) * 1000n;
}

/** @throws OutsideType */
function copyTimestamp(to: Bytes, row: Buffer, start: number): void {
  const value = row.readBigInt64BE(start);
  const micros = value + EPOCH_MICROS;
  if (micros < FIRST_MICRO || micros >= END_MICRO) throw outside(INFINITE_MICROS.indexOf(value));
  to.bigint(micros);
}

/** @throws OutsideType */
function copyDate(to: Bytes, row: Buffer, start: number): void {
  const value = row.readInt32BE(start);
  const days = value + EPOCH_DAYS;
  if (days < FIRST_DAY || days > LAST_DAY) throw outside(INFINITE_DAYS.indexOf(value));
  to.int32(days);
}

function outside(infinite: number): OutsideType {
  return new OutsideType(["infinity", "-infinity"][infinite] ?? "a value of another year");
}

export function daysOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MS;
}

/** Microseconds of `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`. */
export function microsOf(timestamp: string): bigint {
  const [seconds = "", fraction = "Z"] = timestamp.split(".");
  const millis = Date.parse(seconds.endsWith("Z") ? seconds : `${seconds}Z`);
  return BigInt(millis) * 1000n + BigInt(fraction.slice(0, -1).padEnd(6, "0"));
}
