import { AppError } from "@appdb/contract/errors";
import { readReference } from "@appdb/contract/media";
import { MEDIA_SCHEME } from "@appdb/contract/media-uri";
import type { MediaKind } from "@appdb/contract/types";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { isMedia } from "../kinds/media.ts";
import type { MediaFiles } from "../ports.ts";
import { type RowBatch, withRowLocation } from "./many-rows.ts";

/** Replaces addresses of files in the database's own media store by the files, in a row that was read. */
export type TakeOwnMedia = (row: Row) => Promise<void>;

/** Undefined for a table without media columns, whose rows then need no further step. */
export function compileOwnMedia(layout: RowLayout, media: MediaFiles | undefined): TakeOwnMedia | undefined {
  const places = layout.slots.flatMap(({ at, name, origin, type: { kind } }) =>
    origin === "input" && isMedia(kind) ? [{ at, name, kind }] : [],
  );
  if (media === undefined || places.length === 0) return undefined;
  return async (row) => {
    for (const { at, kind, name } of places) {
      const cell = row[at];
      if (typeof cell === "string" && cell.startsWith(OF_STORE)) row[at] = await take(media, name, cell, kind);
    }
  };
}

/** The same batches, with the files in place of their addresses. @throws as `MediaFiles.takeOwn`, with the row's location */
export async function* withOwnMedia(
  batches: AsyncIterable<RowBatch>,
  takeOwn: TakeOwnMedia | undefined,
): AsyncGenerator<RowBatch> {
  for await (const batch of batches) {
    if (takeOwn !== undefined) {
      for (const [at, row] of batch.rows.entries()) {
        await takeOwn(row).catch((error: unknown) => {
          throw withRowLocation(error, batch.locationOf(at));
        });
      }
    }
    yield batch;
  }
}

/** How the cell of such an address begins. */
const OF_STORE = `{"url":"${MEDIA_SCHEME}`;

async function take(media: MediaFiles, column: string, cell: string, kind: MediaKind): Promise<string> {
  try {
    return await media.takeOwn(readReference(cell).url ?? "", kind);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, hint, message, meta } = error;
    throw new AppError(code, {
      detail: `${column}: ${message}`,
      ...(hint === undefined ? {} : { hint }),
      meta: { ...meta, column },
      errors: [{ pointer: `/${column}`, detail: message }],
      cause: error,
    });
  }
}
