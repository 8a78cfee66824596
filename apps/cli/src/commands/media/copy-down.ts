import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { checkMediaName, isObjectKey } from "@appdb/contract/media-uri";
import type { ReadableFile } from "@appdb/contract/routes/media-files";
import { getFile, hashOf } from "@appdb/system/network/transfer-file";
import type { Context } from "../../context.ts";
import { type Copied, type CopyProgress, inGroups, inLanes } from "./copy-progress.ts";
import { eachFile, type MediaTarget, readable, uriOf } from "./media-target.ts";

/** Files of one request for addresses. */
const GROUP = 50;

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
    if (source.is_folder) throw needsRecursive(source, to);
    const [file] = await readable(source, [source.name]);
    if (file === undefined) return progress.result();
    await fetchFile(ctx, file, isFolder ? join(destination, basename(file.name)) : destination, progress);
    return progress.result();
  }
  let isEmpty = true;
  for await (const group of inGroups(eachFile(source, source.name), GROUP)) {
    isEmpty = false;
    const files = await readable(
      source,
      group.map(({ name }) => name),
    );
    await inLanes(files, (file) => fetchFile(ctx, file, join(destination, belowOf(source.name, file.name)), progress));
  }
  if (isEmpty && source.name !== "") throw notFound(source);
  return progress.result();
}

/** The path of a file below the copied folder. The server's names are checked again: none leads out of the folder. */
function belowOf(folder: string, name: string): string {
  const checked = isObjectKey(name) ? name : checkMediaName(name);
  return checked === folder ? basename(checked) : checked.slice(folder === "" ? 0 : folder.length + 1);
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
  await getFile(address, path, sha256, { signal, onBytes: (moved) => progress.moved(moved) });
  progress.copied();
}

function needsRecursive(source: MediaTarget, to: string): Error {
  const uri = uriOf(source, source.name);
  return appError("usage", {
    detail: `${uri} is a folder.`,
    hint: `Copy all of its files: cli media cp -r ${uri} ${to}`,
  });
}

function notFound(source: MediaTarget): Error {
  return appError("media_not_found", {
    detail: `${uriOf(source, source.name)} does not exist.`,
    hint: `List the store: cli media ls -r ${source.store}`,
  });
}
