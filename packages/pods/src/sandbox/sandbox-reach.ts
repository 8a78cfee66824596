import { statSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import type { GivenFolders } from "../driver/pod-folders.ts";
import { bindTable } from "./sandbox-files.ts";
import type { Sight } from "./sandbox-layout.ts";
import { GATHERED } from "./sandbox-scripts.ts";

/**
 * Plans where a pod's user finds the pod's folders. The user may not enter private parents such as a home, so root
 * mounts those folders below a public one. The mount tables are written into `run_folder`. `open` lists folders that
 * are already accessible to everyone. A user that starts pods as itself needs no mounts. The pod does not start when a
 * mounted folder differs from the given one (`knownIdentities`), because its user may swap entries of its own folders.
 */
export function stageMounts(
  mounts: readonly Sight[],
  folders: readonly string[],
  runFolder: string,
  isRoot: boolean,
  knownIdentities: GivenFolders = new Map(),
): Sight[] {
  if (!isRoot) return [...mounts];
  const gathered = [...new Set(folders)];
  const found = gathered.map((path) => statSync(path, { bigint: true }));
  // files are bound to files, folders to folders
  const names = found.map((one, at) => `${one.isDirectory() ? "folder" : "file"} ${at}\n`);
  writeFileSync(join(runFolder, "names"), names.join(""));
  const identities = found.map((one, at) => knownIdentities.get(gathered[at] ?? "") ?? one);
  writeFileSync(join(runFolder, "identities"), identities.map(({ dev, ino }) => `${dev}:${ino}\n`).join(""));
  writeFileSync(join(runFolder, "places"), bindTable(gathered, join(runFolder, "gather")));
  return mounts.map((sight) => ({ ...sight, source: reachable(sight.source, gathered) }));
}

function reachable(source: string, gathered: readonly string[]): string {
  const above = gathered.filter((folder) => source === folder || source.startsWith(folder + sep));
  const nearest = above.sort((one, other) => other.length - one.length)[0];
  if (nearest === undefined) return source;
  return join(GATHERED, String(gathered.indexOf(nearest)), source.slice(nearest.length));
}

/** Whether a sandbox already has the path among the system's programs. */
export function isSystemPath(path: string): boolean {
  return path.startsWith("/usr/");
}
