import type { EngineValue } from "@appdb/contract/types";
import type { Row, Slot } from "../compute/row-layout.ts";
import { escapeCopy } from "../kinds/common.ts";
import { kindOf } from "../kinds/kinds.ts";
import { arrayText, fromSqlText } from "../kinds/values.ts";
import type { SqlResult } from "../ports.ts";

/** The array parameters of a statement for many rows. */
export function arrayParameters(inputs: readonly Slot[], rows: readonly Row[]): string[] {
  return inputs.map((slot) => arrayText(slot.type.kind, rows, slot.at));
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
