import { statSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import type { GivenFolders } from "../driver/pod-folders.ts";
import { bindTable } from "./sandbox-files.ts";
import type { Sight } from "./sandbox-layout.ts";
import { GATHERED } from "./sandbox-scripts.ts";

/**
 * Says where a pod's user finds what the pod is to see. It may not enter the folders above (a home is its owner's alone), so
 * root gathers those folders under one that everybody may enter; the tables for this are written into `run_folder`. `open` are
 * the folders whose way is open to everybody; nothing is gathered for a user who starts pods as itself. The pod does not start
 * when a folder that is gathered is not the one that was given (`given`): its user may exchange what lies in a folder of its own.
 */
export function stageMounts(
  sights: readonly Sight[],
  folders: readonly string[],
  runFolder: string,
  isRoot: boolean,
  given: GivenFolders = new Map(),
): Sight[] {
  if (!isRoot) return [...sights];
  const gathered = [...new Set(folders)];
  const found = gathered.map((path) => statSync(path, { bigint: true }));
  // a file is bound to a file, a folder to a folder
  const names = found.map((one, at) => `${one.isDirectory() ? "folder" : "file"} ${at}\n`);
  writeFileSync(join(runFolder, "names"), names.join(""));
  const identities = found.map((one, at) => given.get(gathered[at] ?? "") ?? one);
  writeFileSync(join(runFolder, "identities"), identities.map(({ dev, ino }) => `${dev}:${ino}\n`).join(""));
  writeFileSync(join(runFolder, "places"), bindTable(gathered, join(runFolder, "gather")));
  return sights.map((sight) => ({ ...sight, source: reachable(sight.source, gathered) }));
}

function reachable(source: string, gathered: readonly string[]): string {
  const above = gathered.filter((folder) => source === folder || source.startsWith(folder + sep));
  const nearest = above.sort((one, other) => other.length - one.length)[0];
  if (nearest === undefined) return source;
  return join(GATHERED, String(gathered.indexOf(nearest)), source.slice(nearest.length));
}

/** Whether a sandbox has it anyway, among the system's own programs. */
export function isOfSystem(path: string): boolean {
  return path.startsWith("/usr/");
}
