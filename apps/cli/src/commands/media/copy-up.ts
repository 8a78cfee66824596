import { opendir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { appError } from "@appdb/contract/errors";
import { checkMediaName } from "@appdb/contract/media-uri";
import { hashOf, putFile } from "@appdb/system/network/transfer-file";
import type { Context } from "../../context.ts";
import { commandLine } from "../../output/command-line.ts";
import { type Copied, type CopyProgress, inGroups, inLanes } from "./copy-progress.ts";
import { destinationOf, EXPIRES_S, type MediaTarget, uriOf } from "./media-target.ts";

/** Files of one request for addresses. */
const GROUP = 50;

interface LocalFile {
  readonly path: string;
  readonly name: string;
}

/** Copies a file or the files of a folder into a store. Content that the store has is not sent. @throws media_not_found, usage */
export async function copyUp(
  ctx: Pick<Context, "cwd" | "out" | "signal">,
  from: string,
  target: MediaTarget,
  isRecursive: boolean,
  progress: CopyProgress,
): Promise<Copied> {
  const source = resolve(ctx.cwd, from);
  const found = await stat(source).catch(() => undefined);
  if (found === undefined) throw noFile(from);
  if (found.isDirectory() && !isRecursive) throw isFolder(from, target);
  const left: string[] = [];
  const files = found.isDirectory() ? walk(source, target.name, left) : [oneFile(source, await destinationOf(target))];
  for await (const group of inGroups(files, GROUP)) await sendGroup(ctx, target, group, progress);
  if (left.length > 0) {
    ctx.out.note(`note: ${left.length} entries are neither files nor folders, and were left out: ${left[0]}`);
  }
  return progress.result();
}

function oneFile(path: string, { is_folder: isInFolder, name }: MediaTarget): LocalFile {
  if (!isInFolder) return { path, name: checkMediaName(name) };
  return { path, name: checkMediaName(name === "" ? basename(path) : `${name}/${basename(path)}`) };
}

/** Links are not followed: they could lead out of the folder, or in a circle. */
async function* walk(folder: string, name: string, left: string[]): AsyncGenerator<LocalFile> {
  for await (const entry of await opendir(folder)) {
    const path = join(folder, entry.name);
    const below = name === "" ? entry.name : `${name}/${entry.name}`;
    if (entry.isDirectory()) yield* walk(path, below, left);
    else if (entry.isFile()) yield { path, name: checkMediaName(below) };
    else left.push(path);
  }
}

async function sendGroup(
  { signal }: Pick<Context, "signal">,
  target: MediaTarget,
  group: readonly LocalFile[],
  progress: CopyProgress,
): Promise<void> {
  const hashed: (LocalFile & { readonly bytes: number; readonly sha256: string })[] = [];
  await inLanes(group, async (file) => {
    signal.throwIfAborted();
    const content = await hashOf(file.path);
    if (content === undefined) throw noFile(file.path);
    hashed.push({ ...file, ...content });
  });
  const files = hashed.map(({ bytes, name, sha256 }) => ({ name, bytes, sha256 }));
  const answer = await target.call("mediaWrite", { body: { files, expires_s: EXPIRES_S } });
  const waiting = answer.files.flatMap((file, at) => (hashed[at] === undefined ? [] : [{ ...hashed[at], ...file }]));
  await inLanes(waiting, async ({ address, bytes, is_same: isSame, path }) => {
    const onBytes = (moved: number) => progress.moved(moved);
    if (address !== null) await putFile(target.resolve(address), path, bytes, { signal, onBytes });
    if (isSame) progress.skipped();
    else if (address === null) progress.named(bytes);
    else progress.copied();
  });
}

function noFile(path: string): Error {
  return appError("media_not_found", {
    detail: `There is no file ${path} on this machine.`,
    hint: "Check the path, relative to the current folder.",
    meta: { path },
  });
}

function isFolder(path: string, target: MediaTarget): Error {
  return appError("usage", {
    detail: `${path} is a folder.`,
    hint: `Copy all of its files: ${commandLine(["media", "cp", "-r", path, uriOf(target, target.name)])}`,
  });
}
