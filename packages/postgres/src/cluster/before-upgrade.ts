import { constants } from "node:fs";
import { copyFile, mkdir, readdir, rename, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { AppError, appError } from "@appdb/contract/errors";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { folderBytes } from "@appdb/system/files/folder-size";
import { syncPath } from "@appdb/system/files/sync-files";
import { nameUnfinished, removeUnfinished } from "./cluster.ts";
import type { ClusterFormat } from "./cluster-mark.ts";
import { copyCluster } from "./copy-cluster.ts";
import { withClient } from "./database-admin.ts";
import { syncCluster } from "./init-cluster.ts";

/** Below the folder in which clusters lie; in it a copy, named by the version that upgraded the cluster: the way back. */
export const COPIES_FOLDER = "before-upgrade";
/** What a person put aside when they went back (docs/upgrades.md); theirs to remove. */
const PUT_ASIDE = "undone-";

/** A large database on a slow disk. */
const COPY_TIMEOUT_MS = 3_600_000;
/** What the server needs beside the copy to start and to upgrade. */
const SPARE_BYTES = 64 * 1024 * 1024;
const MB = 1024 * 1024;

export interface CopyInput {
  readonly bin: string;
  /** Below which the cluster lies. */
  readonly folder: string;
  /** The cluster itself; no server runs on it. */
  readonly data_folder: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Oldest and newest format of the databases of a running server; undefined while none of them has a catalog.
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
 * Copies a cluster to `before-upgrade/<our version>` beside it, on the disk once it resolves. It appears whole, and is the only copy
 * then: those of former upgrades go. One that an upgrade of this version left goes too, because the older version has run since and
 * may have written rows.
 * @throws disk_full, postgres_failed before anything is changed; an AbortError by the signal
 */
export async function copyBeforeUpgrade(input: CopyInput): Promise<void> {
  const { bin, folder, data_folder: dataFolder, log, signal } = input;
  // what a killed one left takes room
  await removeUnfinished(folder);
  const unfinished = nameUnfinished(folder);
  const copies = join(folder, COPIES_FOLDER);
  const copy = join(copies, VERSION);
  try {
    const bytes = await checkRoom(folder, dataFolder, `${unfinished}-block`);
    log.info({ bytes }, "the cluster is copied before it is upgraded");
    await copyCluster(dataFolder, unfinished, { timeout_ms: COPY_TIMEOUT_MS, signal });
    await syncCluster(bin, unfinished, { timeout_ms: COPY_TIMEOUT_MS, with_all: true });
    await mkdir(copies, { recursive: true, mode: 0o700 });
    const former = (await readdir(copies)).filter((name) => !name.startsWith(PUT_ASIDE));
    // one of this name would be in the way; all of them are removed with what is unfinished, once the server runs
    for (const name of former) await rename(join(copies, name), nameUnfinished(folder));
    await rename(unfinished, copy);
    await syncPath(copies);
    await syncPath(folder);
  } catch (error) {
    await removeUnfinished(folder);
    throw copyFailure(error);
  }
  log.info({ copy }, "the copy from before the upgrade is complete");
}

/** Bytes that the copy takes; 0 where blocks are shared. @throws disk_full */
async function checkRoom(folder: string, dataFolder: string, block: string): Promise<number> {
  if (await sharesBlocks(dataFolder, block)) return 0;
  const [bytes, disk] = [await folderBytes([dataFolder]), await statfs(folder)];
  const free = disk.bavail * disk.bsize;
  if (free >= bytes + SPARE_BYTES) return bytes;
  throw tooLittleRoom(`${Math.ceil((bytes + SPARE_BYTES) / MB)} MB are needed, ${Math.floor(free / MB)} MB are free`);
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

/** Without the paths that programs name: who starts a hosted database is told this. */
function copyFailure(cause: unknown): unknown {
  if (cause instanceof AppError || !(cause instanceof Error) || cause.name === "AbortError") return cause;
  const { code } = cause as NodeJS.ErrnoException;
  const said = "stderr" in cause ? String(cause.stderr).trim().split("\n").at(-1)?.split(": ").at(-1) : undefined;
  const words = said === undefined || said === "" ? String(code ?? "it was ended") : said;
  if (/No space left on device|quota exceeded|ENOSPC|EDQUOT/.test(words)) {
    return tooLittleRoom("less was free than it takes", cause);
  }
  return appError("postgres_failed", {
    detail: `The database is copied before this version upgrades it, and that failed: ${words}. Nothing was changed.`,
    hint: "See whether its folder can be written, then start again; the older version works as before.",
    cause,
  });
}

function tooLittleRoom(what: string, cause?: unknown): Error {
  return appError("disk_full", {
    detail: `The database is copied before this version upgrades it, and its disk has no room for that: ${what}. Nothing was changed.`,
    hint: "Free space on the disk and start again, or start the older version, which works as before.",
    cause,
  });
}
