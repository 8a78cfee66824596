import type { EngineValue } from "@appdb/contract/types";
import type { Row, Slot } from "../compute/row-layout.ts";
import { escapeCopy } from "../kinds/common.ts";
import { kindOf } from "../kinds/kinds.ts";
import { transportType } from "../kinds/storage-type.ts";
import { arrayText, fromSqlText, toSqlText } from "../kinds/values.ts";
import type { SqlResult } from "../ports.ts";

/** The array parameters of a statement for many rows: long texts in PostgreSQL's binary form, the rest as text. */
export function arrayParameters(inputs: readonly Slot[], rows: readonly Row[]): (string | Buffer)[] {
  return inputs.map((slot) => {
    const oid = BINARY_OIDS[transportType(slot.type)];
    return oid !== undefined && isLong(slot, rows)
      ? binaryArray(oid, slot, rows)
      : arrayText(slot.type.kind, rows, slot.at);
  });
}

/** Types whose binary form is their text in UTF-8. */
const BINARY_OIDS: Readonly<Record<string, number>> = { text: 25, json: 114 };
/** Characters of a column from which on the binary form is faster: neither side scans the texts for quotes. */
const LONG = 4_096;

function isLong({ at }: Slot, rows: readonly Row[]): boolean {
  let length = 0;
  for (const row of rows) {
    const value = row[at];
    if (typeof value === "string") length += value.length;
  }
  return length >= LONG;
}

/** The binary form of an array: dimensions, whether it has nulls, type; size and lower bound; length and bytes of each. */
function binaryArray(oid: number, { type, at }: Slot, rows: readonly Row[]): Buffer {
  const texts = rows.map((row) => {
    const value = row[at] ?? null;
    return value === null ? null : toSqlText(type, value);
  });
  const sizes = texts.map((text) => (text === null ? -1 : Buffer.byteLength(text)));
  const bytes = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + 4 + Math.max(size, 0), 20));
  let end = 0;
  for (const word of [1, sizes.includes(-1) ? 1 : 0, oid, rows.length, 1]) end = bytes.writeInt32BE(word, end);
  for (const [index, text] of texts.entries()) {
    end = bytes.writeInt32BE(sizes[index] ?? -1, end);
    if (text !== null) end += bytes.write(text, end);
  }
  return bytes;
}

/** Writes rows in the text format of COPY. `last` returns the text of a column after the slots. */
export function copyText(slots: readonly Slot[], rows: readonly Row[], last: (row: Row) => string | null): string {
  const fields = slots.map(({ type, at }) => ({ type, at, write: kindOf(type).toCopy }));
  let text = "";
  for (const row of rows) {
    for (const { type, at, write } of fields) {
      const value = row[at] ?? null;
      text += value === null ? "\\N\t" : `${write(value, type)}\t`;
    }
    const behind = last(row);
    text += behind === null ? "\\N\n" : `${escapeCopy(behind)}\n`;
  }
  return text;
}

/** Copies the result for one row into its slots. `first` is the index of the first slot's column in the result. */
export function fillRow(row: Row, slots: readonly Slot[], result: SqlResult["rows"][number], first: number): void {
  for (let index = 0; index < slots.length; index++) {
    const slot = slots[index];
    if (slot !== undefined) row[slot.at] = fromSql(slot, result[first + index] ?? null);
  }
}

/** Approximate size of a row in memory and in a statement. */
export function rowBytes(row: Row): number {
  let bytes = 64;
  for (const value of row) bytes += valueBytes(value);
  return bytes;
}

function valueBytes(value: EngineValue): number {
  if (typeof value === "string") return value.length + 8;
  // As hexadecimal digits.
  return value instanceof Uint8Array ? 2 * value.length + 8 : 16;
}

function fromSql(slot: Slot, text: string | null): EngineValue {
  return text === null ? null : fromSqlText(slot.type, text);
}
