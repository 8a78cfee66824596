import type { EngineValue, TypeKind } from "@appdb/contract/types";
import type { PlacedSlot } from "./batch-sql.ts";
import type { Row } from "./row-layout.ts";
import { toSqlText } from "./value-sql.ts";

const NEEDS_ESCAPE = /[\\\t\n\r]/;
const ESCAPED = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
/** Types whose text in PostgreSQL never has a character that COPY reads as its own. */
const PLAIN: ReadonlySet<TypeKind> = new Set(["int", "float", "bool", "timestamp", "date", "uuid"]);

/** Writes rows in the text format of COPY; `last` gives the text of a column behind the slots. */
export function copyText(
  slots: readonly PlacedSlot[],
  rows: readonly Row[],
  last: (row: Row) => string | null,
): string {
  let text = "";
  for (const row of rows) {
    for (const slot of slots) text += `${fieldText(slot, row[slot.at] ?? null)}\t`;
    const behind = last(row);
    text += behind === null ? "\\N\n" : `${escapeText(behind)}\n`;
  }
  return text;
}

function fieldText(slot: PlacedSlot, value: EngineValue): string {
  if (value === null) return "\\N";
  const { kind } = slot.type;
  if (kind === "string" || kind === "json") return escapeText(value as string);
  const text = toSqlText(slot.type, value);
  return PLAIN.has(kind) ? text : escapeText(text);
}

function escapeText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replace(ESCAPED, (character) => ESCAPES[character] ?? character) : text;
}
