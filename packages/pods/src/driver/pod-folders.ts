import { type EntryIdentity, giveTree, openToOthers, refuseTenantLinks } from "@appdb/system/files/tenant-files";
import type { PodFolder } from "./task-runner.ts";

/** Folders by path, as they were when they were given. */
export type GivenFolders = ReadonlyMap<string, EntryIdentity>;

/**
 * Makes folders ready for a pod of that user: what it writes becomes the user's own, with all that is in it; what it reads and
 * is not the user's already can be entered by others, which says nothing of the folders above it. Only root does this.
 * @throws pod_failed for a folder that another one could have taken the place of
 */
export function giveFolders(folders: readonly PodFolder[], uid: number): GivenFolders {
  const given = new Map<string, EntryIdentity>();
  for (const { mode, path } of folders) {
    const identity = mode === "write" ? giveTree(path, uid) : openToOthers(path, uid);
    if (identity !== undefined) given.set(path, identity);
  }
  return given;
}

/** Checks folders for pods that run as our own user: nothing is given. @throws pod_failed for a path through a link of a pod */
export function refuseLinksTo(folders: readonly PodFolder[]): GivenFolders {
  for (const { mode, path } of folders) refuseTenantLinks(path, mode === "write");
  return new Map();
}
