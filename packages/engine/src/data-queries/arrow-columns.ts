import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { arrayFromSql } from "../kinds/array-sql.ts";
import { DTYPES, dtypeOf } from "../kinds/dtypes.ts";
import { isMedia } from "../kinds/media.ts";
import { ArrayColumn } from "./arrow-lists.ts";
import type { ArrowType, BatchParts } from "./arrow-messages.ts";
import {
  type ArrowColumn,
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
import type { DescribeFile } from "./rows-format.ts";

/** Makes the column of a type. */
export function arrowColumn(type: ColumnType, describe: DescribeFile): ArrowColumn {
  if (isMedia(type.kind)) return new TextColumn(UTF8, (cell) => describe(cell).address);
  switch (type.kind) {
    case "int":
      return new WordColumn(INT64, BigInt);
    case "float":
      return new WordColumn(FLOAT64, Number);
    case "timestamp":
      return new FixedColumn(TIMESTAMP, 8, copyTimestamp, (to, value) => to.bigint(microsOf(String(value))));
    case "date":
      return new FixedColumn(DATE32, 4, copyDate, (to, value) => to.int32(daysOf(String(value))));
    case "bool":
      return new BoolColumn();
    case "binary":
      return new TextColumn(BINARY, null);
    case "array": {
      const dtype = dtypeOf(type);
      if (type.shape != null) return new ArrayColumn(type, dtype);
      return new TextColumn(
        UTF8,
        (text) => arrayFromSql(dtype, text),
        (value) => String(value),
      );
    }
    default:
      return new TextColumn(UTF8, null);
  }
}

/** The type that PostgreSQL sends for a column's type. Vectors are arrays, and arrays of any shape are texts. */
export function sentType(type: ColumnType): string {
  if (type.kind === "array" && type.shape != null) return `${DTYPES[dtypeOf(type)].storage}[]`;
  return SENT[type.kind as keyof typeof SENT] ?? "text";
}

const SENT = { int: "int8", float: "float8", timestamp: "timestamptz", date: "date", bool: "bool", binary: "bytea" };

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

const DAY_MS = 86_400_000;
/** From 1970, where Arrow begins, to 2000, where PostgreSQL begins. */
const EPOCH_DAYS = 10_957;
const EPOCH_MICROS = BigInt(EPOCH_DAYS) * BigInt(DAY_MS) * 1000n;

function copyTimestamp(to: Bytes, row: Buffer, start: number): void {
  to.bigint(row.readBigInt64BE(start) + EPOCH_MICROS);
}

function copyDate(to: Bytes, row: Buffer, start: number): void {
  to.int32(row.readInt32BE(start) + EPOCH_DAYS);
}

function daysOf(date: string): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MS;
}

/** Microseconds of `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`. */
function microsOf(timestamp: string): bigint {
  const [seconds = "", fraction = "Z"] = timestamp.split(".");
  const millis = Date.parse(seconds.endsWith("Z") ? seconds : `${seconds}Z`);
  return BigInt(millis) * 1000n + BigInt(fraction.slice(0, -1).padEnd(6, "0"));
}
