import { chownTree, type EntryIdentity, openToOthers, refuseTenantLinks } from "@appdb/system/files/tenant-files";
import type { PodFolder } from "./task-runner.ts";

/** Folders by path, with their identity when they were given. */
export type GivenFolders = ReadonlyMap<string, EntryIdentity>;

/**
 * Prepares folders for a pod's user. The user becomes the owner of writable folders and their contents. Read-only
 * folders that the user does not own become accessible to others; their parents do not change. Only root does this.
 * @throws pod_failed for a folder that could have been swapped
 */
export function giveFolders(folders: readonly PodFolder[], uid: number): GivenFolders {
  const given = new Map<string, EntryIdentity>();
  for (const { mode, path } of folders) {
    const identity = mode === "write" ? chownTree(path, uid) : openToOthers(path, uid);
    if (identity !== undefined) given.set(path, identity);
  }
  return given;
}

/**
 * Checks folders for pods that run as our own user, whose owner does not change.
 * @throws pod_failed for a path through a pod's link
 */
export function refuseLinksTo(folders: readonly PodFolder[]): GivenFolders {
  for (const { mode, path } of folders) refuseTenantLinks(path, mode === "write");
  return new Map();
}
