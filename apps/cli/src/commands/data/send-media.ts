import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { type ExactObject, isObject, parseExact, printExact } from "@appdb/contract/clients/exact-json";
import { isMediaColumn } from "@appdb/contract/clients/typed-values";
import { appError } from "@appdb/contract/errors";
import { MEDIA_SCHEME } from "@appdb/contract/media-uri";
import type { Target } from "@appdb/contract/names";
import type { DataTable } from "@appdb/contract/routes/data-api";
import { hashOf } from "@appdb/system/network/transfer-file";
import type { Context } from "../../context.ts";
import type { Lines } from "../../row-files/read-rows.ts";
import { CopyProgress } from "../media/copy-progress.ts";
import { copyUp } from "../media/copy-up.ts";
import { type MediaTarget, openMedia, uriOf } from "../media/media-target.ts";

/** An address, which the server reads itself: https://..., s3://..., or one of a response. */
const ADDRESS = /^[a-z][a-z0-9+.-]*:|\/_media\//i;
/** Folder of the store for files of rows. */
const FOLDER = "inserted";

export interface MediaRows {
  readonly json: boolean;
  readonly table: DataTable;
  readonly target: Target;
  /** Where a value was given; default: in a line of a file. */
  readonly placeOf?: (column: string, row: number) => string;
}

function lineOf(column: string, row: number): string {
  return `line ${row}, ${column}`;
}

/**
 * The same rows, with their local files in the database's media store and the addresses in their place. A file that
 * several rows name is sent once.
 * @throws media_not_found with the line of the row
 */
export async function* sendMedia(
  ctx: Context,
  lines: Lines,
  { json, placeOf = lineOf, table, target }: MediaRows,
): AsyncGenerator<readonly string[], void> {
  const columns = table.columns.filter(isMediaColumn).map(({ name }) => name);
  if (columns.length === 0) {
    yield* lines;
    return;
  }
  const database = target.kind === "local" ? target.database : `${target.uri.organization}:${target.uri.database}`;
  using progress = new CopyProgress(ctx.out, json);
  const addresses = new Map<string, string>();
  let store: MediaTarget | undefined;
  let number = 0;
  for await (const some of lines) {
    const sent: string[] = [];
    for (const line of some) {
      number += 1;
      const row = readObject(line);
      const changed = new Map(row);
      for (const name of columns) {
        const value = row?.get(name);
        if (typeof value !== "string" || ADDRESS.test(value)) continue;
        const path = resolve(ctx.cwd, value);
        if (!addresses.has(path)) {
          if (!(await isFile(path))) throw missing(value, placeOf(name, number));
          store ??= await openMedia(ctx, `${MEDIA_SCHEME}${database}/home`);
          addresses.set(path, await sendFile(ctx, path, store, progress));
        }
        changed.set(name, addresses.get(path) ?? null);
      }
      sent.push(row === undefined ? line : printExact(changed));
    }
    yield sent;
  }
}

/** Undefined for a line without an object: the server names it. */
function readObject(line: string): ExactObject | undefined {
  try {
    const value = parseExact(line);
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function sendFile(ctx: Context, path: string, store: MediaTarget, progress: CopyProgress): Promise<string> {
  const content = await hashOf(path);
  if (content === undefined) throw missing(path, path);
  const name = `${FOLDER}/${content.sha256.slice(0, 16)}/${basename(path)}`;
  await copyUp(ctx, path, { ...store, name, is_folder: false }, false, progress);
  return uriOf(store, name);
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true;
}

function missing(path: string, place: string): Error {
  return appError("media_not_found", {
    detail: `${place}: There is no file ${path} on this machine.`,
    hint: "Write paths relative to the current folder, or addresses: https://...",
    meta: { path },
  });
}
