import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { appError } from "@appdb/contract/errors";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";

/** What an object's file was before a worker got its path. */
interface Stamp extends Pick<Stats, "size" | "mtimeMs" | "ino"> {
  readonly path: string;
}

/**
 * Stamps the file of an object in a local store, which workers read in place. `bytes`: its length when it was stored.
 * `name`: for people. @throws media_not_found
 */
export async function stampOriginal(path: string, name: string, bytes: number | undefined): Promise<Stamp> {
  const found = await awaitIfExists(stat(path));
  if (found !== undefined && (bytes === undefined || bytes === found.size)) return stampOf(path, found);
  const isMissing = found === undefined;
  throw appError("media_not_found", {
    detail: isMissing
      ? `The file ${JSON.stringify(name)} is missing in its store.`
      : `The file ${JSON.stringify(name)} has ${found.size} bytes in its store, and had ${bytes} when it was stored.`,
    hint: "It was changed outside of this database. Send the file again.",
  });
}

/** Whether an object's file is still what it was. */
export async function isOriginal(stamp: Stamp): Promise<boolean> {
  const found = await awaitIfExists(stat(stamp.path));
  return found !== undefined && isDeepStrictEqual(stampOf(stamp.path, found), stamp);
}

function stampOf(path: string, { ino, mtimeMs, size }: Stats): Stamp {
  return { path, size, mtimeMs, ino };
}
