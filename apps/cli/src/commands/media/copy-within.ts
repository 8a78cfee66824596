import { basename } from "node:path";
import { appError } from "@appdb/contract/errors";
import { checkMediaName } from "@appdb/contract/media-uri";
import { type Copied, type CopyProgress, inGroups } from "./copy-progress.ts";
import { EXPIRES_S, eachFile, type MediaTarget, readable, uriOf } from "./media-target.ts";

/** Files of one request for addresses. */
const GROUP = 100;

interface Named {
  readonly name: string;
}

/** Gives files of a store further names. No bytes are moved. @throws media_not_found, usage */
export async function copyWithin(
  source: MediaTarget,
  target: MediaTarget,
  isRecursive: boolean,
  progress: CopyProgress,
): Promise<Copied> {
  if (source.store !== target.store) throw otherStore(source, target);
  if (source.is_folder && !isRecursive) throw needsRecursive(source, target);
  const named: AsyncIterable<Named> | Named[] = isRecursive ? eachFile(source, source.name) : [source];
  for await (const group of inGroups(named, GROUP)) {
    const found = await readable(
      source,
      group.map(({ name }) => name),
    );
    const files = found.map(({ bytes, name, sha256 }) => ({ name: nameIn(source, target, name), bytes, sha256 }));
    await target.call("mediaWrite", { body: { files, expires_s: EXPIRES_S } });
    for (const _ of files) progress.copied();
  }
  return progress.result();
}

function nameIn(source: MediaTarget, target: MediaTarget, name: string): string {
  const isAlone = name === source.name;
  if (isAlone && !target.is_folder) return checkMediaName(target.name);
  const below = isAlone ? basename(name) : name.slice(source.name === "" ? 0 : source.name.length + 1);
  return checkMediaName(target.name === "" ? below : `${target.name}/${below}`);
}

function needsRecursive(source: MediaTarget, target: MediaTarget): Error {
  const uri = uriOf(source, source.name);
  return appError("usage", {
    detail: `${uri} is a folder.`,
    hint: `Copy all of its files: cli media cp -r ${uri} ${uriOf(target, target.name)}`,
  });
}

function otherStore(source: MediaTarget, target: MediaTarget): Error {
  const flag = source.is_folder ? "-r " : "";
  return appError("usage", {
    detail: `${source.store} and ${target.store} are different stores.`,
    hint: `Copy to this machine first: cli media cp ${flag}${uriOf(source, source.name)} copies/`,
  });
}
