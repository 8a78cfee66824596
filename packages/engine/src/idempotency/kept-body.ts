import type { ColumnType } from "@appdb/contract/types";
import { fromSqlText, valueToJson } from "../kinds/values.ts";

/** An answer's text, short of the values that SQL computes while the row is stored. */
export interface KeptBody {
  readonly text: string;
  /** Where such values belong, from `holesText`; null: nowhere. */
  readonly holes: string | null;
}

/** One such place: in front of the character `at` of the text, the computed value number `of`. */
type Hole = readonly [at: number, of: number, type: ColumnType];

/** A body without holes. */
export function wholeBody(text: string): KeptBody {
  return { text, holes: null };
}

/** What is stored of a hole; those of a body stand in a list, by their place. `type`: of the value, as JSON. */
export function holeText(at: number, of: number, type: string): string {
  return `[${at},${of},${type}]`;
}

/** Writes a body as it was answered, from what is stored: `made` has its holes, then the computed values as PostgreSQL writes them. */
export function fillBody(text: string, made: readonly (string | null)[] | null): string {
  const [holes, ...values] = made ?? [];
  if (holes == null) return text;
  let filled = "";
  let from = 0;
  for (const [at, of, type] of JSON.parse(holes) as readonly Hole[]) {
    const value = values[of] ?? null;
    filled += text.slice(from, at) + valueToJson(type.kind, value === null ? null : fromSqlText(type, value));
    from = at;
  }
  return filled + text.slice(from);
}
