import { createHash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";

/** The longest path of a unix socket: 107 bytes on Linux, 103 on macOS. */
const SOCKET_PATH_BYTES = process.platform === "darwin" ? 103 : 107;
const SOCKET_NAME = "/.s.PGSQL.5432";

/**
 * Makes the short folder in which a home's sockets lie: 0700, ours, found again from the home's path. Homes may be
 * deeper than a socket's path may be long. `base` is XDG_RUNTIME_DIR; the system's temporary folder when it is undefined.
 * @throws postgres_failed when another user holds the folder's name
 */
export function openRuntimeFolder(home: string, base: string | undefined): string {
  const uid = process.getuid?.() ?? 0;
  const name = `appdb-${uid}-${createHash("sha256").update(home).digest("hex").slice(0, 12)}`;
  const bases = [base, tmpdir(), "/tmp"].filter((folder) => folder !== undefined);
  const folder = bases.map((parent) => join(parent, name)).find(fitsSocket);
  if (folder === undefined) {
    throw appError("postgres_failed", {
      detail: `No folder is short enough for PostgreSQL's socket: ${bases.join(", ")} are longer than the system allows.`,
      hint: "Set TMPDIR to a short folder that you own.",
    });
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // the temporary folder belongs to everybody: somebody else may have taken the name, or linked it elsewhere
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw appError("postgres_failed", {
      detail: `The folder ${folder} for PostgreSQL's socket is not a private folder of yours.`,
      hint: `Look who made it, then remove it: ls -ld ${folder}`,
    });
  }
  return folder;
}

function fitsSocket(folder: string): boolean {
  return Buffer.byteLength(folder + SOCKET_NAME) <= SOCKET_PATH_BYTES;
}
