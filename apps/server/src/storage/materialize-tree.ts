import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, readdir, rename, rm, utimes } from "node:fs/promises";
import { basename, join } from "node:path";
import type { TreeEntry } from "@appdb/contract/control/project-tree";
import { AppError, appError } from "@appdb/contract/errors";
import type { ProjectFiles } from "@appdb/python-runtime/images/project-files";
import type { BlobStore } from "@appdb/system/blobs/blob-store";
import type { ServerConfig } from "../config/config.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { requireDiskSpace } from "./disk-floor.ts";
import { checkTree } from "./store-tree.ts";
import { deleteUnpacked, recordUnpacked, reserveUnpacked, sizeOfTree } from "./unpacked.ts";
import { isWritten, readEntry, writeTree } from "./write-tree.ts";

export interface MaterializeDeps {
  readonly db: ControlDatabase;
  readonly blobs: BlobStore;
  readonly config: Pick<ServerConfig, "home" | "quotas">;
}

export interface MaterializeInput {
  readonly org_id: string;
  /** Digest of a stored tree. */
  readonly digest: string;
  /** The database's folder of trees (databasePaths). The tree gets a folder named by its digest. */
  readonly files_folder: string;
}

/**
 * Unpacks a tree where pods read it, completely or not at all. Returns its folder. Safe to repeat, to run concurrently
 * and to kill. An existing tree is checked instead of written. Storage is reserved before the write and released on
 * failure.
 * @throws blobs_missing if a file must be uploaded again, storage_quota, disk_full
 */
export async function materializeTree(
  { blobs, config, db }: MaterializeDeps,
  { digest, files_folder: filesFolder, org_id: orgId }: MaterializeInput,
  signal: AbortSignal,
): Promise<string> {
  const tree = await findTree(db, { org_id: orgId, digest });
  const folder = join(filesFolder, digest);
  // folders appear complete, so an incomplete one comes from a power cut
  const isPresent = await exists(folder);
  if (isPresent && (await isWritten(tree.entries, folder)) && (await use(folder))) return folder;
  if (isPresent) await removeReadOnly(folder);
  const name = `draft-${randomBytes(8).toString("hex")}`;
  const draft = join(filesFolder, name);
  const counted = { org_id: orgId, database_id: basename(filesFolder), folder: name };
  await requireDiskSpace({ config });
  await reserveUnpacked(db, config.quotas.storage, counted, sizeOfTree(tree.entries));
  try {
    await mkdir(draft, { recursive: true, mode: 0o700 });
    await writeTree(blobs, orgId, tree.entries, draft, signal);
    await rename(draft, folder);
    await recordUnpacked(db, counted, digest);
  } catch (error) {
    await removeReadOnly(draft);
    await deleteUnpacked(db, counted);
    // a concurrent call was faster
    if (hasCode(error, "ENOTEMPTY", "EEXIST") && (await isWritten(tree.entries, folder))) return folder;
    await forgetBlob(db, orgId, error);
    throw toTreeError(error);
  }
  return folder;
}

type TreeName = Pick<MaterializeInput, "digest" | "org_id">;

/** A tree whose files are read from blobs. @throws blobs_missing, also while a file is read; tree_invalid */
export async function openTree(
  { blobs, db }: Pick<MaterializeDeps, "blobs" | "db">,
  name: TreeName,
): Promise<ProjectFiles> {
  const { entries } = await findTree(db, name);
  checkTree(entries);
  return {
    entries,
    async *read(entry) {
      try {
        yield* readEntry(blobs, name.org_id, entry);
      } catch (error) {
        await forgetBlob(db, name.org_id, error);
        throw error;
      }
    },
  };
}

async function findTree(
  db: ControlDatabase,
  { digest, org_id: orgId }: TreeName,
): Promise<{ readonly entries: readonly TreeEntry[] }> {
  const tree = await db
    .selectFrom("control.trees")
    .select("entries")
    .where("org_id", "=", orgId)
    .where("digest", "=", digest)
    .executeTakeFirst();
  if (tree === undefined) throw missingBlob(digest);
  return tree;
}

/** Removes a read-only folder, if it exists. */
export async function removeReadOnly(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  });
  if (entries === undefined) return;
  await chmod(folder, 0o700);
  for (const entry of entries) if (entry.isDirectory()) await removeReadOnly(join(folder, entry.name));
  await rm(folder, { recursive: true, force: true });
}

/** Marks a folder as used, which protects it from collection (collect-trees.ts). False if it was removed just now. */
async function use(folder: string): Promise<boolean> {
  const now = new Date();
  return await utimes(folder, now, now).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, "ENOENT")) return false;
      throw error;
    },
  );
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

/** Marks a lost or damaged blob as missing, so that the next upload sends it again. */
async function forgetBlob(db: ControlDatabase, orgId: string, error: unknown): Promise<void> {
  if (!(error instanceof AppError) || error.code !== "blobs_missing") return;
  const digest = error.meta["digest"];
  if (typeof digest !== "string") return;
  await db.deleteFrom("control.blobs").where("org_id", "=", orgId).where("digest", "=", digest).execute();
}

function missingBlob(digest: string): Error {
  return appError("blobs_missing", {
    detail: `The project files ${digest.slice(0, 12)} are not stored.`,
    hint: "Run the command again to upload the missing files.",
  });
}

function toTreeError(error: unknown): unknown {
  if (!hasCode(error, "ENOSPC", "EDQUOT")) return error;
  return appError("disk_full", {
    detail: "The server's disk is full, so the project's files were not unpacked.",
    hint: "Ask the operator of the server to free space on its disk, then try again.",
    cause: error,
  });
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
