import { createHash } from "node:crypto";
import { chmodSync, existsSync, lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";

/** The longest path of a unix socket: 107 bytes on Linux, 103 on macOS. */
const SOCKET_PATH_BYTES = process.platform === "darwin" ? 103 : 107;
const SOCKET_NAME = "/.s.PGSQL.5432";

/**
 * Names the short folder of a home's sockets, derived from the home's path, because a home may be deeper than a socket
 * path allows. `base` is XDG_RUNTIME_DIR; defaults to the system's temporary folder.
 * @throws postgres_failed when no such folder is short enough
 */
export function nameRuntimeFolder(home: string, base: string | undefined): string {
  const name = `appdb-${process.getuid?.() ?? 0}-${createHash("sha256").update(home).digest("hex").slice(0, 12)}`;
  const bases = [base, tmpdir(), "/tmp"].filter((folder) => folder !== undefined && existsSync(folder));
  const folder = bases.map((parent) => join(parent ?? "", name)).find(fitsSocket);
  if (folder !== undefined) return folder;
  throw appError("postgres_failed", {
    detail: `No folder is short enough for PostgreSQL's socket: ${bases.join(", ")} are longer than the system allows.`,
    hint: "Set TMPDIR to a short folder that you own.",
  });
}

/**
 * Creates the folder for our user only. `users` are the users who may own it after root gave it to them.
 * @throws postgres_failed when another user owns the path
 */
export function openRuntimeFolder(folder: string, users?: { readonly first: number; readonly count: number }): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // temporary folders are shared: another user may have taken the name or made it a link
  const found = lstatSync(folder);
  const isGiven = users !== undefined && found.uid >= users.first && found.uid < users.first + users.count;
  const isOwnFolder = found.uid === (process.getuid?.() ?? found.uid) || isGiven;
  if (found.isDirectory() && isOwnFolder && (found.mode & 0o077) === 0) return;
  throw notPrivate(folder);
}

/**
 * Creates the folder for a socket that users of pods open, too. Only our user can write to it.
 * @throws postgres_failed when another user owns the path
 */
export function openSharedRuntimeFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== (process.getuid?.() ?? found.uid) || (found.mode & 0o022) !== 0) {
    throw notPrivate(folder);
  }
  // independent of the umask
  chmodSync(folder, 0o755);
}

function notPrivate(folder: string): Error {
  return appError("postgres_failed", {
    detail: `The folder ${folder} for a socket is not a private folder of yours.`,
    hint: `Check who created it, then remove it: ls -ld ${folder}`,
  });
}

function fitsSocket(folder: string): boolean {
  return Buffer.byteLength(folder + SOCKET_NAME) <= SOCKET_PATH_BYTES;
}
