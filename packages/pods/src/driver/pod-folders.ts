import {
  chownTree,
  type EntryIdentity,
  makeTenantFolders,
  openToOthers,
  refuseTenantLinks,
} from "@appdb/system/files/tenant-files";
import type { PodFolder } from "./task-runner.ts";

/** Folders by path, with their identity when they were given. */
export type GivenFolders = ReadonlyMap<string, EntryIdentity>;

/**
 * Prepares folders for a pod's user. The user becomes the owner of writable folders and their contents: what it owns
 * already is not visited, so that a start takes the same time for any number of files. Read-only
 * folders that the user does not own become accessible to others; their parents do not change. Only root does this.
 * @throws pod_failed for a folder that could have been swapped
 */
export function giveFolders(folders: readonly PodFolder[], uid: number): GivenFolders {
  const given = new Map<string, EntryIdentity>();
  for (const { mode, path, code_parts: parts = [] } of folders) {
    const identity = mode === "write" ? chownTree(path, uid) : openToOthers(path, uid);
    if (identity !== undefined) given.set(path, identity);
    makeParts(path, parts, uid);
  }
  return given;
}

/**
 * Checks folders for pods that run as our own user, whose owner does not change.
 * @throws pod_failed for a path through a pod's link
 */
export function refuseLinksTo(folders: readonly PodFolder[]): GivenFolders {
  for (const { mode, path, code_parts: parts = [] } of folders) {
    refuseTenantLinks(path, mode === "write");
    makeParts(path, parts, null);
  }
  return new Map();
}

/** `uid`: the pod's user; null for our own. */
function makeParts(path: string, parts: NonNullable<PodFolder["code_parts"]>, uid: number | null): void {
  if (parts.length > 0)
    makeTenantFolders(
      path,
      parts.map(({ name }) => name),
      uid,
    );
}
