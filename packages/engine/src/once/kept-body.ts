import type { ColumnType } from "@appdb/contract/types";
import { valueToJson } from "../rows/value-json.ts";
import { fromSqlText } from "../rows/value-sql.ts";

/** An answer's text, with holes between its pieces for values that SQL computes while the row is stored. */
export interface KeptBody {
  readonly pieces: readonly string[];
  /** `of`: which of the computed values. One less than the pieces. */
  readonly holes: readonly { readonly of: number; readonly type: ColumnType }[];
}

/** A body without holes. */
export function wholeBody(text: string): KeptBody {
  return { pieces: [text], holes: [] };
}

/** What is stored of a body: its text, or a text that tells of pieces and holes. */
export function bodyText(body: KeptBody): string {
  return body.holes.length === 0 ? (body.pieces[0] ?? "") : JSON.stringify(body);
}

/** Writes a body as it was answered, from what is stored: `made` has the computed values as PostgreSQL writes them. */
export function fillBody(text: string, made: readonly (string | null)[] | null): string {
  if (made === null) return text;
  const { pieces, holes } = JSON.parse(text) as KeptBody;
  return pieces.reduce((filled, piece, index) => {
    const hole = holes[index - 1];
    if (hole === undefined) return filled + piece;
    const value = made[hole.of] ?? null;
    return filled + valueToJson(hole.type.kind, value === null ? null : fromSqlText(hole.type, value)) + piece;
  }, "");
}
