import { constants } from "node:fs";
import { copyFile, mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
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
    throw copyFailure(error);
  }
  log.info({ copy }, "the copy from before the upgrade is complete");
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

/** Omits paths of programs, because users who start a hosted database read this. */
function copyFailure(cause: unknown): unknown {
  if (cause instanceof AppError || !(cause instanceof Error) || cause.name === "AbortError") return cause;
  const { code } = cause as NodeJS.ErrnoException;
  const stderr = "stderr" in cause ? String(cause.stderr).trim().split("\n").at(-1)?.split(": ").at(-1) : undefined;
  const words = stderr === undefined || stderr === "" ? String(code ?? "it was ended") : stderr;
  if (/No space left on device|quota exceeded|ENOSPC|EDQUOT/.test(words)) {
    return notEnoughDisk("the disk had less free space than the copy needs", cause);
  }
  return appError("postgres_failed", {
    detail: `The database must be copied before this version upgrades it, and the copy failed: ${words}. Nothing was changed.`,
    hint: "Check that its folder is writable, then start again. The older version works as before.",
    cause,
  });
}

function notEnoughDisk(what: string, cause?: unknown): Error {
  return appError("disk_full", {
    detail: `The database must be copied before this version upgrades it, and its disk has too little space: ${what}. Nothing was changed.`,
    hint: "Free space on the disk and start again, or start the older version, which works as before.",
    cause,
  });
}
