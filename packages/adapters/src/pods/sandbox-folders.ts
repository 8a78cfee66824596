import { chmodSync, lchownSync, lstatSync, mkdirSync, readdirSync, readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, normalize } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { PodFolder } from "./pod-driver.ts";

const OTHERS_READ = 0o005;

/**
 * Makes folders ready for a pod of that user: what it writes becomes the user's own, with all that is in it; what it reads and
 * is not the user's already can be entered by others, which says nothing of the folders above it. Only root does this; nobody else has another user's pods.
 * @throws pod_failed for a folder that somebody could have put another one in place of
 */
export function giveFolders(folders: readonly PodFolder[], uid: number): void {
  for (const { mode, path } of folders) {
    refuseForeignLinks(path);
    if (mode === "write") {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      own(path, uid);
      continue;
    }
    const found = lstatSync(path, { throwIfNoEntry: false });
    // of another pod of the same user's: what that keeps private stays so
    if (found?.uid === uid) continue;
    if (found?.isDirectory() && (found.mode & OTHERS_READ) !== OTHERS_READ) chmodSync(path, found.mode | OTHERS_READ);
  }
}

/**
 * Links on the way to a folder must be the system's or ours: one that a pod made in a folder of its own would lead us, who may
 * read everything, wherever it likes.
 * @throws pod_failed
 */
export function refuseForeignLinks(path: string): void {
  if (!isAbsolute(path) || normalize(path) !== path)
    throw notAFolder(path, "it is no absolute path as the system writes it");
  const own_uid = process.getuid?.() ?? 0;
  for (let part = path; part !== dirname(part); part = dirname(part)) {
    const found = lstatSync(part, { throwIfNoEntry: false });
    if (found?.isSymbolicLink() && found.uid !== 0 && found.uid !== own_uid) {
      throw notAFolder(path, `${part} is a link to ${readlinkSync(part)} that another user made`);
    }
  }
}

/** Gives the folder away, itself last: one that is the user's already was given with all that is in it. */
function own(path: string, uid: number): void {
  const found = lstatSync(path);
  if (found.uid === uid) return;
  if (found.isDirectory()) for (const name of readdirSync(path)) own(join(path, name), uid);
  lchownSync(path, uid, uid);
}

function notAFolder(path: string, why: string): Error {
  return appError("pod_failed", { detail: `The folder ${path} is not given to a pod: ${why}.` });
}
