import { AppError, appError } from "@appdb/contract/errors";
import { readReference } from "@appdb/contract/media";
import type { ColumnType, EngineValue, MediaKind } from "@appdb/contract/types";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { isMedia } from "../kinds/media.ts";
import type { MediaFiles } from "../ports.ts";
import { type RowBatch, withRowLocation } from "./many-rows.ts";

/** Values of a query's parameters by their names. */
type Arguments = ReadonlyMap<string, EngineValue>;

/** Files that a request names by addresses, as columns of a row or as parameters of a query. */
export interface GivenMedia<Cells> {
  /**
   * Refuses addresses that the database must not read with its credentials. A row would otherwise be stored whose files
   * nothing can read. Refuses names of the media store to a caller that may not read it, before any name is looked up.
   * @throws media_source_not_allowed, forbidden
   */
  require(cells: Cells, caller: RequestCaller | undefined): void;
  /** The same cells, with the files of the database in place of their addresses. @throws as `MediaFiles.takeOwn` */
  take(cells: Cells): Promise<Cells>;
}

/** The given files of rows that were read; undefined for a table without media columns. `take` changes the row. */
export function givenInRows(layout: RowLayout, media: MediaFiles | undefined): GivenMedia<Row> | undefined {
  const places = layout.slots.flatMap(({ at, name, origin, type: { kind } }) =>
    origin === "input" && isMedia(kind) ? [{ at, name, kind }] : [],
  );
  if (media === undefined || places.length === 0) return undefined;
  return {
    require(row, caller) {
      for (const { at, name } of places) requireSource(media, name, row[at], caller);
    },
    async take(row) {
      for (const { at, kind, name } of places) {
        const cell = row[at];
        if (isOwn(cell)) row[at] = await take(media, name, cell, kind);
      }
      return row;
    },
  };
}

/** The given files of a query's parameters; undefined for a query without any. */
export function givenInArguments(
  parameters: readonly { readonly name: string; readonly type: ColumnType }[],
  media: MediaFiles | undefined,
): GivenMedia<Arguments> | undefined {
  const places = parameters.flatMap(({ name, type: { kind } }) => (isMedia(kind) ? [{ name, kind }] : []));
  if (media === undefined || places.length === 0) return undefined;
  return {
    require(args, caller) {
      for (const { name } of places) requireSource(media, name, args.get(name), caller);
    },
    async take(args) {
      const taken = new Map(args);
      for (const { kind, name } of places) {
        const cell = args.get(name);
        if (isOwn(cell)) taken.set(name, await take(media, name, cell, kind));
      }
      return taken;
    },
  };
}

/** The reader for requests of a caller, which also refuses addresses as `require` does. */
export function requiring<A extends unknown[], Cells>(
  read: (...args: A) => Cells,
  given: Pick<GivenMedia<Cells>, "require"> | undefined,
): (caller: RequestCaller | undefined) => (...args: A) => Cells {
  if (given === undefined) return () => read;
  return (caller) =>
    (...args) => {
      const cells = read(...args);
      given.require(cells, caller);
      return cells;
    };
}

/** The same batches, with the files in place of their addresses. @throws as `take`, with the row's location */
export async function* takenInBatches(
  batches: AsyncIterable<RowBatch>,
  given: GivenMedia<Row> | undefined,
): AsyncGenerator<RowBatch> {
  for await (const batch of batches) {
    if (given !== undefined) {
      for (const [at, row] of batch.rows.entries()) {
        await given.take(row).catch((error: unknown) => {
          throw withRowLocation(error, batch.locationOf(at));
        });
      }
    }
    yield batch;
  }
}

/** Whether a cell may name a file of the database: by its store's address, or by one that a response had. */
function isOwn(cell: EngineValue | undefined): cell is string {
  return typeof cell === "string" && (isNamed(cell) || cell.includes("/_media/"));
}

/** Whether a cell is the name of a file in a media store. */
function isNamed(cell: string): boolean {
  return cell.startsWith('{"url":"mediafs://');
}

function requireSource(
  media: MediaFiles,
  name: string,
  cell: EngineValue | undefined,
  caller: RequestCaller | undefined,
): void {
  // empty: a file of a form that is checked before its files are stored
  if (typeof cell !== "string" || cell === "") return;
  try {
    if (caller?.reads_media === false && isNamed(cell)) throw noNames();
    media.requireSource(cell);
  } catch (error) {
    throw explained(name, error);
  }
}

async function take(media: MediaFiles, name: string, cell: string, kind: MediaKind): Promise<string> {
  try {
    return (await media.takeOwn(readReference(cell).url ?? "", kind)) ?? cell;
  } catch (error) {
    throw explained(name, error);
  }
}

/** The same for each name, so that it does not tell which ones exist. */
function noNames(): Error {
  return appError("forbidden", {
    detail: "The API key may not read the media store of the database, so that its requests cannot name files there.",
    hint: "Upload the file, send an address that a response of the service had, or use a key for the whole database: cli key create <name> --grant access:cloud://<org>:<db>",
  });
}

function explained(name: string, error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, hint, message, meta } = error;
  return new AppError(code, {
    detail: `${name}: ${message}`,
    ...(hint === undefined ? {} : { hint }),
    meta: { ...meta, column: name },
    errors: [{ pointer: `/${name}`, detail: message }],
    cause: error,
  });
}
