import { readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { checkMediaName, isObjectKey } from "@appdb/contract/media-uri";
import type { ReadableFile } from "@appdb/contract/routes/media-files";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { getFile, hashOf, pidOfPart } from "@appdb/system/network/transfer-file";
import { identifyProcess } from "@appdb/system/processes/process-identity";
import type { Context } from "../../context.ts";
import { type Copied, type CopyProgress, inGroups, inLanes } from "./copy-progress.ts";
import { eachFile, type MediaTarget, notFound, readable, readableFile, unaskedName } from "./media-target.ts";

/** Files of one request for addresses. */
const GROUP = 50;
const TAKEN = ["EISDIR", "ENOTDIR", "EEXIST"];

/** Copies a file or the files of a folder out of a store. Files that are there already are not fetched. @throws media_not_found, usage */
export async function copyDown(
  ctx: Pick<Context, "cwd" | "signal">,
  source: MediaTarget,
  to: string,
  isRecursive: boolean,
  progress: CopyProgress,
): Promise<Copied> {
  const destination = resolve(ctx.cwd, to);
  const isFolder = /[/\\]$/.test(to) || (await stat(destination).catch(() => undefined))?.isDirectory() === true;
  if (!isRecursive) {
    const [file] = await readableFile(source, to);
    if (file === undefined) return progress.result();
    const path = isFolder ? join(destination, belowOf(source.name, file.name)) : destination;
    await removeLeft(dirname(path));
    await fetchFile(ctx, file, path, progress);
    return progress.result();
  }
  let isEmpty = true;
  const swept = new Set<string>();
  for await (const group of inGroups(eachFile(source, source.name), GROUP)) {
    isEmpty = false;
    const files = await readable(
      source,
      group.map(({ name }) => name),
    );
    const folders = new Set(files.map(({ name }) => dirname(join(destination, belowOf(source.name, name)))));
    for (const folder of folders) {
      if (!swept.has(folder)) await removeLeft(folder);
      swept.add(folder);
    }
    await inLanes(files, (file) => fetchFile(ctx, file, join(destination, belowOf(source.name, file.name)), progress));
  }
  if (isEmpty && source.name !== "") throw notFound(source);
  return progress.result();
}

/** The path of a file below the copied folder. The server's names are checked again: none leads out of the folder. */
function belowOf(folder: string, name: string): string {
  if (name === folder) return basename(checkAnyName(name));
  const start = folder === "" ? "" : `${folder}/`;
  if (!name.startsWith(start)) throw unaskedName(name);
  return checkAnyName(name.slice(start.length));
}

function checkAnyName(name: string): string {
  return isObjectKey(name) ? name : checkMediaName(name);
}

/** Removes what killed commands left in a folder. A folder that cannot be used is reported by the copy into it. */
async function removeLeft(folder: string): Promise<void> {
  const names = await awaitIfExists(readdir(folder), ["ENOENT", ...TAKEN]);
  for (const name of names ?? []) {
    const pid = pidOfPart(name);
    if (pid !== undefined && identifyProcess(pid) === undefined) await rm(join(folder, name), { force: true });
  }
}

async function fetchFile(
  { signal }: Pick<Context, "signal">,
  { address, bytes, sha256 }: ReadableFile,
  path: string,
  progress: CopyProgress,
): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.size === bytes && (await hashOf(path))?.sha256 === sha256) {
    progress.skipped();
    return;
  }
  try {
    await getFile(address, path, sha256, { signal, onBytes: (moved) => progress.moved(moved) });
  } catch (error) {
    throw isTaken(error) ? taken(path, error) : error;
  }
  progress.copied();
}

/** A store can have a file and a folder of one name; a file system cannot. */
function isTaken(error: unknown): boolean {
  return TAKEN.includes((error as NodeJS.ErrnoException).code ?? "");
}

function taken(path: string, cause: unknown): Error {
  return appError("file_exists", {
    detail: `${path} cannot be written: it, or a part of its path, is already a folder or a file here.`,
    hint: "Copy to another folder, or give the file another name in the store.",
    meta: { path },
    cause,
  });
}
