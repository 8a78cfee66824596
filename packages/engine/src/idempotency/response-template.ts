import type { ColumnType } from "@appdb/contract/types";
import { fromSqlText, valueToJson } from "../kinds/values.ts";

/** The text of a response without the values that SQL computes while it stores the row. */
export interface ResponseTemplate {
  readonly text: string;
  /** Positions of these values: a list of `placeholderText` in order; null for none. */
  readonly placeholders: string | null;
}

/** Computed value number `of` goes before character `at` of the text. */
type Placeholder = readonly [at: number, of: number, type: ColumnType];

/** The stored form of a placeholder. `type`: the type of the value, as JSON. */
export function placeholderText(at: number, of: number, type: string): string {
  return `[${at},${of},${type}]`;
}

/** Fills in the placeholders of a stored body. `texts` has the placeholders, then the computed values as PostgreSQL
 *  writes them. */
export function fillTemplate(text: string, texts: readonly (string | null)[] | null): string {
  const [placeholders, ...values] = texts ?? [];
  if (placeholders == null) return text;
  let filled = "";
  let from = 0;
  for (const [at, of, type] of JSON.parse(placeholders) as readonly Placeholder[]) {
    const value = values[of] ?? null;
    filled += text.slice(from, at) + valueToJson(type.kind, value === null ? null : fromSqlText(type, value));
    from = at;
  }
  return filled + text.slice(from);
}
