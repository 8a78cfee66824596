import { AppError } from "@appdb/contract/errors";
import type { RowLayout } from "../compute/row-layout.ts";
import { isMedia } from "../kinds/media.ts";
import type { MediaFiles } from "../ports.ts";
import type { RowReader } from "./validate-row.ts";

/**
 * The reader of rows, which also refuses addresses that the database must not read with its credentials. A row would
 * otherwise be stored whose files nothing can read.
 */
export function withMediaSources(read: RowReader, layout: RowLayout, media: MediaFiles | undefined): RowReader {
  const places = layout.slots.flatMap(({ name, type, origin }, slot) =>
    origin === "input" && isMedia(type.kind) ? [{ name, slot }] : [],
  );
  if (media === undefined || places.length === 0) return read;
  return (body, what) => {
    const row = read(body, what);
    for (const { name, slot } of places) {
      const cell = row[slot];
      if (typeof cell === "string") requireSource(media, name, cell);
    }
    return row;
  };
}

function requireSource(media: MediaFiles, column: string, cell: string): void {
  try {
    media.requireSource(cell);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, hint, meta } = error;
    throw new AppError(code, {
      detail: `${column}: ${message}`,
      ...(hint === undefined ? {} : { hint }),
      meta: { ...meta, column },
      errors: [{ pointer: `/${column}`, detail: message }],
      cause: error,
    });
  }
}
