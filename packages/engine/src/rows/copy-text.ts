import type { Row } from "../compute/row-layout.ts";
import { escapeCopy } from "../kinds/common.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { PlacedSlot } from "./batch-sql.ts";

/** Writes rows in the text format of COPY; `last` gives the text of a column behind the slots. */
export function copyText(
  slots: readonly PlacedSlot[],
  rows: readonly Row[],
  last: (row: Row) => string | null,
): string {
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
