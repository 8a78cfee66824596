import { constants } from "node:fs";
import { copyFile, mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { join, relative } from "node:path";
import { AppError, appError } from "@appdb/contract/errors";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { folderBytes } from "@appdb/system/files/folder-size";
import { syncPath } from "@appdb/system/files/sync-files";
import { removeUnfinished, unfinishedPath } from "./cluster.ts";
import type { ClusterFormat } from "./cluster-mark.ts";
import { copyCluster } from "./copy-cluster.ts";
import { withClient } from "./database-admin.ts";
import { syncCluster } from "./init-cluster.ts";

/** Subfolder next to the clusters with a copy for rollback, named by the version that upgraded the cluster. */
export const COPIES_FOLDER = "before-upgrade";
/** Prefix of clusters that a user moved aside during a rollback (docs/upgrades.md). The user removes them. */
const PUT_ASIDE = "undone-";

/** Enough for a large database on a slow disk. */
const COPY_TIMEOUT_MS = 3_600_000;
/** Space that the server needs besides the copy to start and upgrade. */
const SPARE_BYTES = 64 * 1024 * 1024;
const MB = 1024 * 1024;

export interface CopyInput {
  readonly bin: string;
  /** Parent folder of the cluster. */
  readonly folder: string;
  /** The cluster's folder; no server runs on it. */
  readonly data_folder: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Oldest and newest catalog format among the databases of a running server. Undefined when none has a catalog.
 * @throws database_unavailable
 */
export async function findFormats(
  dsns: readonly string[],
  { table, column }: ClusterFormat,
): Promise<{ oldest: number; newest: number } | undefined> {
  const found: number[] = [];
  for (const dsn of dsns) {
    const newest = await withClient(dsn, async (client) => {
      const known = await client.query<{ known: boolean }>("select to_regclass($1) is not null as known", [table]);
      if (known.rows[0]?.known !== true) return null;
      const { rows } = await client.query<{ newest: number | null }>(`select max(${column}) as newest from ${table}`);
      return rows[0]?.newest ?? null;
    });
    if (newest !== null) found.push(newest);
  }
  return found.length === 0 ? undefined : { oldest: Math.min(...found), newest: Math.max(...found) };
}

/**
 * Copies a cluster to the sibling folder `before-upgrade/<our version>`; on disk once it resolves. The copy appears
 * atomically and replaces all copies of previous upgrades. It also replaces one of this version, because the older
 * version has run since and may have written rows.
 * @throws disk_full, postgres_failed before anything is changed; an AbortError by the signal
 */
export async function copyBeforeUpgrade(input: CopyInput): Promise<void> {
  const { bin, folder, data_folder: dataFolder, log, signal } = input;
  // leftovers of a killed copy take space
  await removeUnfinished(folder);
  const unfinished = unfinishedPath(folder);
  const copies = join(folder, COPIES_FOLDER);
  const copy = join(copies, VERSION);
  try {
    const bytes = await checkRoom(folder, dataFolder, `${unfinished}-block`);
    log.info({ bytes }, "the cluster is copied before it is upgraded");
    await copyCluster(dataFolder, unfinished, { timeout_ms: COPY_TIMEOUT_MS, signal });
    await syncCluster(bin, unfinished, { timeout_ms: COPY_TIMEOUT_MS, with_all: true });
    await mkdir(copies, { recursive: true, mode: 0o700 });
    const previousCopies = (await readdir(copies)).filter((name) => !name.startsWith(PUT_ASIDE));
    // an existing copy of this name would block the rename; all of them are removed later, with unfinished folders
    for (const name of previousCopies) await rename(join(copies, name), unfinishedPath(folder));
    await rename(unfinished, copy);
    await syncPath(copies);
    await syncPath(folder);
  } catch (error) {
    await removeUnfinished(folder);
    throw copyFailure(error, folder);
  }
  // readers of a hosted database's log must not see where its home is
  log.info({ copy: relative(folder, copy) }, "the copy from before the upgrade is complete");
}

/** Bytes that the copy needs; 0 where blocks are shared. @throws disk_full */
async function checkRoom(folder: string, dataFolder: string, block: string): Promise<number> {
  if (await sharesBlocks(dataFolder, block)) return 0;
  const [bytes, disk] = [await folderBytes([dataFolder]), await statfs(folder)];
  const free = disk.bavail * disk.bsize;
  if (free >= bytes + SPARE_BYTES) return bytes;
  throw notEnoughDisk(`${Math.ceil((bytes + SPARE_BYTES) / MB)} MB are needed, ${Math.floor(free / MB)} MB are free`);
}

async function sharesBlocks(dataFolder: string, block: string): Promise<boolean> {
  try {
    await copyFile(join(dataFolder, "global", "pg_control"), block, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    return false;
  } finally {
    await rm(block, { force: true });
  }
}

/** What an operator does about the cause of a failed copy. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /EACCES|EPERM|EROFS|Permission denied|Operation not permitted|Read-only file system/,
    "Let the user who runs the product read and write the files of the database, then start it again.",
  ],
  [
    /EIO|Input\/output error/,
    "Check the disk, restore the file that cannot be read from a backup, then start it again.",
  ],
];
const OTHER_ADVICE = "Remove the cause, then start it again. The copy then starts from the beginning.";

/** Names files relative to the clusters' folder, because users who start a hosted database read this. */
function copyFailure(cause: unknown, folder: string): unknown {
  if (cause instanceof AppError || !(cause instanceof Error) || cause.name === "AbortError") return cause;
  const reason = nameReason(cause, folder);
  if (/No space left on device|quota exceeded|ENOSPC|EDQUOT/.test(reason)) {
    return notEnoughDisk(`the disk had less free space than the copy needs (${reason})`, cause);
  }
  return appError("postgres_failed", {
    detail: `The database must be copied before this version upgrades it, and the copy failed: ${reason}. Nothing was changed.`,
    hint: ADVICE.find(([pattern]) => pattern.test(reason))?.[1] ?? OTHER_ADVICE,
    cause,
  });
}

type FailedProgram = Error & {
  readonly stderr?: string;
  readonly code?: string | number | null;
  readonly signal?: string | null;
  readonly killed?: boolean;
};

/** The first line that the program wrote, because later ones follow from it. Otherwise how it ended. */
function nameReason(failed: FailedProgram, folder: string): string {
  const { code, killed: isLate, message, signal, stderr } = failed;
  const [line = ""] = (stderr ?? "").split("\n").filter((one) => one.trim() !== "");
  if (line !== "") return relativePaths(line, folder).replace(/\.$/, "");
  if (isLate === true) return `the copy took longer than ${COPY_TIMEOUT_MS / 60_000} minutes`;
  if (typeof signal === "string") return `the program that copies was ended by ${signal}`;
  if (typeof code === "number") return `the program that copies ended with exit code ${code} and wrote no reason`;
  return relativePaths(message, folder);
}

/** Paths below the folder become relative to it. Of other absolute paths only the name stays. */
function relativePaths(text: string, folder: string): string {
  return text.replaceAll(`${folder}/`, "").replaceAll(/(?<=^|[\s'"`(])\/(?:[^\s'"`:,()]*\/)?([^\s'"`:,()/]+)/g, "$1");
}

function notEnoughDisk(what: string, cause?: unknown): Error {
  return appError("disk_full", {
    detail: `The database must be copied before this version upgrades it, and its disk has too little space: ${what}. Nothing was changed.`,
    hint: "Free space on the disk, then start it again.",
    cause,
  });
}
