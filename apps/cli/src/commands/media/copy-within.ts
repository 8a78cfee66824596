import { basename } from "node:path";
import { appError } from "@appdb/contract/errors";
import { checkMediaName } from "@appdb/contract/media-uri";
import type { ReadableFile } from "@appdb/contract/routes/media-files";
import { commandLine } from "../../output/command-line.ts";
import { type Copied, type CopyProgress, inGroups } from "./copy-progress.ts";
import {
  destinationOf,
  EXPIRES_S,
  eachFile,
  type MediaTarget,
  notFound,
  readable,
  readableFile,
  uriOf,
} from "./media-target.ts";

/** Files of one request for addresses. */
const GROUP = 100;

/** Gives files of a store further names. No bytes are moved. @throws media_not_found, usage */
export async function copyWithin(
  source: MediaTarget,
  target: MediaTarget,
  isRecursive: boolean,
  progress: CopyProgress,
): Promise<Copied> {
  if (source.store !== target.store) throw otherStore(source, target);
  if (!isRecursive) {
    const files = await readableFile(source, uriOf(target, target.name));
    await giveNames(source, await destinationOf(target), files, progress);
    return progress.result();
  }
  if (isInside(source, target)) throw ownFolder(source, target);
  let isEmpty = true;
  for await (const group of inGroups(eachFile(source, source.name), GROUP)) {
    isEmpty = false;
    const found = await readable(
      source,
      group.map(({ name }) => name),
    );
    await giveNames(source, target, found, progress);
  }
  if (isEmpty && source.name !== "") throw notFound(source);
  return progress.result();
}

async function giveNames(
  source: MediaTarget,
  target: MediaTarget,
  found: readonly ReadableFile[],
  progress: CopyProgress,
): Promise<void> {
  const files = found.map(({ bytes, name, sha256 }) => ({ name: nameIn(source, target, name), bytes, sha256 }));
  const given = await target.call("mediaWrite", { body: { files, expires_s: EXPIRES_S } });
  for (const [at, { is_same: isSame }] of given.files.entries()) {
    if (isSame) progress.skipped();
    else progress.named(files[at]?.bytes ?? 0);
  }
}

/** Each copy would be one more file to copy. */
function isInside(source: MediaTarget, target: MediaTarget): boolean {
  return source.name !== target.name && target.name.startsWith(source.name === "" ? "" : `${source.name}/`);
}

function nameIn(source: MediaTarget, target: MediaTarget, name: string): string {
  const isAlone = name === source.name;
  if (isAlone && !target.is_folder) return checkMediaName(target.name);
  const below = isAlone ? basename(name) : name.slice(source.name === "" ? 0 : source.name.length + 1);
  return checkMediaName(target.name === "" ? below : `${target.name}/${below}`);
}

function ownFolder(source: MediaTarget, target: MediaTarget): Error {
  return appError("usage", {
    detail: `${uriOf(target, target.name)} is in ${uriOf(source, source.name)}, which cannot be copied into itself.`,
    hint: "Copy to a folder outside of it.",
  });
}

function otherStore(source: MediaTarget, target: MediaTarget): Error {
  const flag = source.is_folder ? "-r" : undefined;
  return appError("usage", {
    detail: `${source.store} and ${target.store} are different stores.`,
    hint: `Copy to this machine first: ${commandLine(["media", "cp", flag, uriOf(source, source.name), "copies/"])}`,
  });
}
