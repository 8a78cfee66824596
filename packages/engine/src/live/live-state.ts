import { hash } from "node:crypto";
import type { IdentifiedRow, QueryAnswer } from "../queries/final-answer.ts";

/** A query's result at one time. Its id is a digest, so a reader with the same id is up to date. */
export interface LiveState {
  readonly id: string;
  readonly text: string;
  /** Undefined if rows have no identity. */
  readonly rows: readonly IdentifiedRow[] | undefined;
  readonly bytes: number;
}

/** Approximate bytes of a row in addition to its text. */
const ROW_BYTES = 100;

export function stateOf({ text, rows }: QueryAnswer): LiveState {
  const ids = rows === undefined ? "" : JSON.stringify(rows.map(({ id }) => id));
  const bytes = text.length + (rows === undefined ? 0 : rows.length * ROW_BYTES + text.length);
  return { id: hash("sha1", `${ids}\n${text}`, "base64url"), text, rows, bytes };
}

/** The whole result as an event. */
export function resultEvent({ id, text, rows }: LiveState): string {
  const ids = rows === undefined ? "" : `,"ids":${JSON.stringify(rows.map((row) => row.id))}`;
  return event("result", id, `{"rows":[${text}]${ids}}`);
}

/**
 * The changes between two results as an event: `removed` ids, and `changed` and `added` rows with their current index.
 * Gives the whole result if that is shorter, or if unchanged rows moved.
 */
export function changeEvent(from: LiveState, to: LiveState): string {
  const change = diffRows(from, to);
  const whole = resultEvent(to);
  if (change === undefined) return whole;
  const text = event("change", to.id, change);
  return text.length < whole.length ? text : whole;
}

function diffRows(from: LiveState, to: LiveState): string | undefined {
  if (from.rows === undefined || to.rows === undefined) return undefined;
  const before = new Map(from.rows.map(({ id, text }, at) => [id, { text, at }]));
  const added: string[] = [];
  const changed: string[] = [];
  const kept = new Set<string>();
  let last = -1;
  for (const [at, { id, text }] of to.rows.entries()) {
    const known = before.get(id);
    const row = `{"at":${at},"id":${JSON.stringify(id)},"row":${text}}`;
    if (kept.has(id)) return undefined;
    kept.add(id);
    if (known === undefined) added.push(row);
    else if (known.text !== text) changed.push(row);
    else if (known.at < last) return undefined;
    else last = known.at;
  }
  const removed = [...before.keys()].filter((id) => !kept.has(id));
  return `{"added":[${added.join(",")}],"removed":${JSON.stringify(removed)},"changed":[${changed.join(",")}]}`;
}

/** Formats a server-sent event. JSON of a row may span several lines. */
export function event(name: string, id: string | undefined, data: string): string {
  const lines = /[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).join("\ndata: ") : data;
  return `event: ${name}\n${id === undefined ? "" : `id: ${id}\n`}data: ${lines}\n\n`;
}
