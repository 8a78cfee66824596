import { hash } from "node:crypto";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { kindOf } from "../kinds/kinds.ts";

/** The effect of a commit on a table: the values of some columns in its changed rows. Undefined values mean that
 *  anything may have changed. */
export interface LiveChange {
  readonly table_id: number;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** Bytes; `appdb.tell_live` reports a longer value by its digest. */
export const LONGEST_VALUE = 64;
/** Maximum number of incomplete messages. The parts of one message arrive in order. */
const MAX_OPEN = 100;

/** Puts messages of the trigger function together again (`appdb.tell_live`). */
export class ChangeAssembler {
  readonly #open = new Map<string, string[]>();

  /** Takes the payload of one NOTIFY; undefined until all parts have arrived. */
  read(payload: string): LiveChange | undefined {
    const [, id = "", part, parts, text = ""] = /^([^;]*);(\d+);(\d+);(.*)$/s.exec(payload) ?? [];
    if (part === undefined) return undefined;
    if (parts === "1") return parseChange(text);
    const known = this.#open.get(id) ?? [];
    known.push(text);
    if (known.length < Number(parts)) {
      this.#open.set(id, known);
      // A part that was lost with its connection leaves other parts behind.
      if (this.#open.size > MAX_OPEN) this.#open.clear();
      return undefined;
    }
    this.#open.delete(id);
    return parseChange(known.join(""));
  }
}

/** Undefined for text that the trigger function does not write. Anyone can use the channel. */
function parseChange(text: string): LiveChange | undefined {
  try {
    const { table, columns = [], rows = [] } = JSON.parse(text);
    if (!Number.isInteger(table) || !Array.isArray(columns) || !Array.isArray(rows)) return undefined;
    return rows.every(Array.isArray) ? { table_id: table, columns, rows } : undefined;
  } catch {
    return undefined;
  }
}

/** A value as the trigger function writes it; undefined for types whose text depends on the writer's session. */
export function watchedValue(type: ColumnType, value: EngineValue): string | undefined {
  if (value === null || !kindOf(type).isWatched) return undefined;
  const text = String(value);
  if (Buffer.byteLength(text) <= LONGEST_VALUE) return `=${text}`;
  return `#${hash("md5", text)}`;
}
