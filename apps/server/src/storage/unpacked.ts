import { dirname } from "node:path";
import type { TreeEntry } from "@appdb/contract/control/project-tree";
import { sql } from "kysely";
import type { StorageBounds } from "../config/config-quotas.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { BLOCK_BYTES, requireStorageQuota, type StorageUse } from "./storage-use.ts";

/** A folder of project files below a database's. */
export interface UnpackedFolder {
  readonly org_id: string;
  readonly database_id: string;
  /** Its name: a digest, or a draft's name. */
  readonly folder: string;
}

/** The size of a tree on a disk. Each file and folder counts as at least a block, and a chunk counts for each use. */
export function sizeOfTree(entries: readonly Pick<TreeEntry, "path" | "size">[]): StorageUse {
  const folders = new Set<string>();
  for (const { path } of entries) {
    for (let parent = dirname(path); parent !== "." && !folders.has(parent); parent = dirname(parent)) {
      folders.add(parent);
    }
  }
  const bytes = entries.reduce((sum, { size }) => sum + Math.max(size, BLOCK_BYTES), 0);
  return { bytes: bytes + folders.size * BLOCK_BYTES, files: entries.length + folders.size };
}

/** Records a folder before it is written. @throws storage_quota */
export async function reserveUnpacked(
  db: ControlDatabase,
  bounds: StorageBounds,
  { database_id: databaseId, folder, org_id: orgId }: UnpackedFolder,
  { bytes, files }: StorageUse,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .insertInto("control.unpacked")
      .values({ org_id: orgId, database_id: databaseId, folder, bytes: String(bytes), files })
      .execute();
    await requireStorageQuota(tx, orgId, bounds, "The project's files, unpacked for the database,");
  });
}

/** Records that a draft has its final name. Of concurrent drafts of one tree, one remains. */
export async function recordUnpacked(db: ControlDatabase, draft: UnpackedFolder, folder: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const deleted = await tx
      .deleteFrom("control.unpacked")
      .where("database_id", "=", draft.database_id)
      .where("folder", "=", draft.folder)
      .returning(["org_id", "database_id", "bytes", "files"])
      .executeTakeFirst();
    if (deleted === undefined) return;
    await tx
      .insertInto("control.unpacked")
      .values({ ...deleted, folder })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  });
}

/** Removes the record of a removed folder. */
export async function deleteUnpacked(
  db: ControlDatabase,
  { database_id: databaseId, folder }: Omit<UnpackedFolder, "org_id">,
): Promise<void> {
  await db.deleteFrom("control.unpacked").where("database_id", "=", databaseId).where("folder", "=", folder).execute();
}

/** Longer than any write: an older draft without a folder belongs to a killed server. */
const DRAFT_LIFE = "1 day";

/**
 * Corrects a database's rows: folders without a row get one from their list, rows without a folder are removed. `rows`
 * must be read before the folders, because a folder gets its name before its row.
 */
export async function recountUnpacked(
  db: ControlDatabase,
  { id, org_id: orgId }: { readonly id: string; readonly org_id: string },
  rows: readonly string[],
  names: readonly string[],
): Promise<void> {
  const uncounted = names.filter((name) => !rows.includes(name));
  const trees = await db
    .selectFrom("control.trees")
    .select(["digest", "entries"])
    .where("org_id", "=", orgId)
    .where("digest", "in", ["", ...uncounted])
    .execute();
  for (const { digest, entries } of trees) {
    const { bytes, files } = sizeOfTree(entries);
    await db
      .insertInto("control.unpacked")
      .values({ org_id: orgId, database_id: id, folder: digest, bytes: String(bytes), files })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  const missing = rows.filter((row) => !names.includes(row));
  if (missing.length === 0) return;
  await sql`delete from control.unpacked where database_id = ${id} and folder = any(${missing})
    and (folder not like 'draft-%' or created_at < now() - ${DRAFT_LIFE}::interval)`.execute(db);
}

/** The recorded folders of a database. */
export async function countedFolders(db: ControlDatabase, databaseId: string): Promise<string[]> {
  const rows = await db.selectFrom("control.unpacked").select("folder").where("database_id", "=", databaseId).execute();
  return rows.map(({ folder }) => folder);
}
