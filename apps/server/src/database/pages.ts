import { appError } from "@appdb/contract/errors";
import * as z from "zod";

/** The page parameters of every list, checked by the contract's `pageQuerySchema`. */
export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** The last item before a page: its value of the list's order, and its id. */
export interface Position {
  readonly after: string;
  readonly id: string;
}

/** Microseconds since 1970, up to the year 2286. */
const TIME = /^\d{1,16}$/;

const positionSchema = z.tuple([z.string().max(300), z.string().max(100)]);

/** Writes a list's cursor. Cursors are opaque but not secret: every page authorizes its caller. */
export function writePageCursor({ after, id }: Position): string {
  return Buffer.from(JSON.stringify([after, id])).toString("base64url");
}

/** Reads a cursor. A `time` is in microseconds, which Date would round; an `id` is a UUID. @throws invalid_cursor */
export function readPageCursor(
  cursor: string | undefined,
  order: "text" | "time" | "id" = "text",
): Position | undefined {
  if (cursor === undefined) return undefined;
  try {
    const [after, id] = positionSchema.parse(JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")));
    if (after.includes("\0") || id.includes("\0")) throw new Error("A position cannot contain a NUL character.");
    if (order === "time" && !TIME.test(after)) throw new Error("The position is not a time.");
    if (order === "id") z.uuid().parse(id);
    return { after, id };
  } catch (cause) {
    throw appError("invalid_cursor", {
      detail: "The cursor does not belong to this list.",
      hint: "Begin again without a cursor.",
      cause,
    });
  }
}

/** Makes a page from rows. One row more than `limit` was read, to detect a further page. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  positionOf: (row: Row) => Position,
): { items: Item[]; next: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? writePageCursor(positionOf(last)) : null;
  return { items: shown.map(toItem), next };
}
