import { isUtf8 } from "node:buffer";
import { timestampOf } from "../../values/parse-time.ts";
import { DAY_MS, EPOCH_DAYS, EPOCH_MICROS } from "../results/arrow-columns.ts";
import type { CopySheet } from "./copy-sheet.ts";

/** The values of one column in a batch: the bytes of all values, without gaps between them. */
export interface ColumnCells {
  readonly rows: number;
  /** Numbers are little-endian. A null has a value of zero bytes, or a text of no length. */
  readonly data: Buffer;
  /** For texts and bytes: where each begins, and where the last one ends. */
  readonly starts: Uint32Array | undefined;
  /** A byte for each row, 1 for null; undefined without nulls. */
  readonly nulls: Uint8Array | undefined;
}

/** A value as JSON has it: parsed, and as text. */
export interface JsonCell {
  readonly value: unknown;
  raw(): string;
}

/** How values of a column are sent, and the fields of PostgreSQL's binary format that they make. */
export interface ColumnForm {
  /** Bytes of a value; null for texts and bytes, whose lengths are sent. */
  readonly width: number | null;
  /** The value that a JSON object has in its place. */
  cell(cells: ColumnCells, at: number): JsonCell;
  /** Whether the columns of the form's kind take all values as they are. */
  isStorable(cells: ColumnCells): boolean;
  /** Writes a value that is not null as a field. */
  write(sheet: CopySheet, cells: ColumnCells, at: number): void;
}

const EXPONENT = 0x7ff0_0000;
const EPOCH_HIGH = Number(EPOCH_MICROS >> 32n);
const EPOCH_LOW = Number(EPOCH_MICROS & 0xffff_ffffn);
/** The years 1 to 9999. */
const FIRST_DAY = -719_162;
const LAST_DAY = 2_932_896;
const MICROS_OF_DAY = BigInt(DAY_MS) * 1000n;
const FIRST_MICROS = BigInt(FIRST_DAY) * MICROS_OF_DAY;
const END_MICROS = BigInt(LAST_DAY + 1) * MICROS_OF_DAY;

/** Integers of 64 bits. */
const i64: ColumnForm = {
  width: 8,
  cell: ({ data }, at) => {
    const value = data.readBigInt64LE(8 * at);
    return jsonOf(Number(value), () => String(value));
  },
  isStorable: () => true,
  write: (sheet, { data }, at) => sheet.word(data.readInt32LE(8 * at + 4), data.readInt32LE(8 * at)),
};

/** Floats of 64 bits. */
const f64: ColumnForm = {
  width: 8,
  cell: ({ data }, at) => jsonOf(data.readDoubleLE(8 * at)),
  isStorable: (cells) => every(cells, (at) => (cells.data.readInt32LE(8 * at + 4) & EXPONENT) !== EXPONENT),
  write: i64.write,
};

/** True and false, as 1 and 0. */
const u8: ColumnForm = {
  width: 1,
  cell: ({ data }, at) => jsonOf((data[at] as number) > 1 ? data[at] : data[at] === 1),
  isStorable: (cells) => every(cells, (at) => (cells.data[at] as number) <= 1),
  write(sheet, { data }, at) {
    sheet.int32(1);
    sheet.reserve(1);
    sheet.bytes[sheet.at++] = data[at] as number;
  },
};

/** Microseconds since 1970. */
const micros: ColumnForm = {
  width: 8,
  cell: ({ data }, at) => jsonOf(timestampText(data.readBigInt64LE(8 * at))),
  isStorable: (cells) =>
    every(cells, (at) => {
      const value = cells.data.readBigInt64LE(8 * at);
      return value >= FIRST_MICROS && value < END_MICROS;
    }),
  write(sheet, { data }, at) {
    const low = data.readUInt32LE(8 * at);
    const high = data.readInt32LE(8 * at + 4);
    sheet.word(high - EPOCH_HIGH - (low < EPOCH_LOW ? 1 : 0), low - EPOCH_LOW);
  },
};

/** Days since 1970. */
const days: ColumnForm = {
  width: 4,
  cell: ({ data }, at) => {
    const ms = data.readInt32LE(4 * at) * DAY_MS;
    return jsonOf(isDate(ms) ? new Date(ms).toISOString().slice(0, 10) : `the day ${ms / DAY_MS}`);
  },
  isStorable: (cells) =>
    every(cells, (at) => {
      const value = cells.data.readInt32LE(4 * at);
      return value >= FIRST_DAY && value <= LAST_DAY;
    }),
  write(sheet, { data }, at) {
    sheet.int32(4);
    sheet.int32(data.readInt32LE(4 * at) - EPOCH_DAYS);
  },
};

/** The 16 bytes of a UUID. */
const b16: ColumnForm = {
  width: 16,
  cell: ({ data }, at) => {
    const digits = data.toString("hex", 16 * at, 16 * at + 16);
    return jsonOf([0, 8, 12, 16, 20].map((from, part) => digits.slice(from, [8, 12, 16, 20, 32][part])).join("-"));
  },
  isStorable: () => true,
  write: (sheet, { data }, at) => sheet.part(data, 16 * at, 16 * at + 16),
};

/** Texts in UTF-8. */
const utf8: ColumnForm = {
  width: null,
  cell: (cells, at) => jsonOf(textOf(cells, at)),
  isStorable: ({ data, starts }) => isUtf8(data) && !data.includes(0) && beginCharacters(data, starts),
  write: writePart,
};

const bytes: ColumnForm = {
  width: null,
  cell: ({ data, starts }, at) => jsonOf(data.toString("base64", starts?.[at], starts?.[at + 1])),
  isStorable: () => true,
  write: writePart,
};

/** Values as JSON texts. Any column takes them, and each is parsed. */
const source: ColumnForm = {
  width: null,
  cell: (cells, at) => {
    const text = textOf(cells, at);
    return { value: JSON.parse(text), raw: () => text };
  },
  isStorable: () => false,
  write: () => {
    throw new TypeError("JSON texts are parsed before they are written.");
  },
};

export const COLUMN_FORMS = { i64, f64, u8, micros, days, b16, utf8, bytes, source } as const;
export type ColumnFormName = keyof typeof COLUMN_FORMS;

function jsonOf(value: unknown, raw = () => JSON.stringify(value)): JsonCell {
  return { value, raw };
}

function every({ nulls, rows }: ColumnCells, isRight: (at: number) => boolean): boolean {
  for (let at = 0; at < rows; at++) if (nulls?.[at] !== 1 && !isRight(at)) return false;
  return true;
}

function writePart(sheet: CopySheet, { data, starts }: ColumnCells, at: number): void {
  sheet.part(data, starts?.[at] as number, starts?.[at + 1] as number);
}

/** @throws TypeError for bytes that are not UTF-8 */
function textOf({ data, starts }: ColumnCells, at: number): string {
  const part = data.subarray(starts?.[at], starts?.[at + 1]);
  const text = part.toString("utf8");
  if (text.includes("\uFFFD") && !isUtf8(part)) throw new TypeError("it is not UTF-8");
  return text;
}

/** Whether no text begins inside a character. */
function beginCharacters(data: Buffer, starts: Uint32Array | undefined): boolean {
  if (starts === undefined) return false;
  for (const start of starts) if (((data[start] ?? 0) & 0xc0) === 0x80) return false;
  return true;
}

/** A timestamp of the engine; another text outside of the years that dates of JavaScript have. */
function timestampText(value: bigint): string {
  const fraction = Number(((value % 1_000_000n) + 1_000_000n) % 1_000_000n);
  const ms = Number((value - BigInt(fraction)) / 1000n);
  if (!isDate(ms)) return `${value} microseconds`;
  const text = timestampOf(ms);
  return fraction === 0 ? text : `${text.slice(0, -1)}.${String(fraction).padStart(6, "0")}Z`;
}

function isDate(ms: number): boolean {
  return Math.abs(ms) <= 8.64e15;
}
