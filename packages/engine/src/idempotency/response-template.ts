import type { ColumnType } from "@appdb/contract/types";
import { fromSqlText, valueToJson } from "../kinds/values.ts";

/** A response's text without the values that SQL computes while it stores the row. */
export interface ResponseTemplate {
  readonly text: string;
  /** Where such values belong: a list of `placeholderText`, in their order; null for none. */
  readonly placeholders: string | null;
}

/** The computed value number `of` belongs in front of the character `at` of the text. */
type Placeholder = readonly [at: number, of: number, type: ColumnType];

/** What is stored of a placeholder. `type`: of the value, as JSON. */
export function placeholderText(at: number, of: number, type: string): string {
  return `[${at},${of},${type}]`;
}

/** Writes a body as it was answered. `made` has its placeholders, then the computed values as PostgreSQL writes them. */
export function fillTemplate(text: string, made: readonly (string | null)[] | null): string {
  const [placeholders, ...values] = made ?? [];
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
