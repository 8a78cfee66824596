import type { EngineValue } from "@appdb/contract/types";
import type { Row, Slot } from "../compute/row-layout.ts";
import { arrayText, fromSqlText } from "../kinds/values.ts";
import type { SqlResult } from "../ports.ts";

/** A slot of the layout with its place in a row. */
export interface PlacedSlot extends Slot {
  readonly at: number;
}

/** The array parameters of a statement over many rows. */
export function arrayParameters(given: readonly PlacedSlot[], rows: readonly Row[]): string[] {
  return given.map((slot) => arrayText(slot.type.kind, rows, slot.at));
}

/** Puts what came back for one row into its slots; `first` is the place of the first of them in the result. */
export function fillRow(
  row: Row,
  slots: readonly PlacedSlot[],
  result: SqlResult["rows"][number],
  first: number,
): void {
  for (let index = 0; index < slots.length; index++) {
    const slot = slots[index];
    if (slot !== undefined) row[slot.at] = fromSql(slot, result[first + index] ?? null);
  }
}

/** About what a row takes in memory and in a statement. */
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
