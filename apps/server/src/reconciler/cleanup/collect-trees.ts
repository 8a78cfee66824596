import { randomBytes } from "node:crypto";
import { lstat, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { sql } from "kysely";
import { SERVER_PATHS } from "../../config/config.ts";
import { databasePod, NO_FILES } from "../../pods/database-paths.ts";
import { findPodToken } from "../../pods/pod-token.ts";
import { removeReadOnly } from "../../storage/materialize-tree.ts";
import { readStorageUse } from "../../storage/storage-use.ts";
import { countedFolders, deleteUnpacked, recountUnpacked } from "../../storage/unpacked.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { isNamed, isStale, UNUSED_MS } from "./unused.ts";

/** Prefix of folders that are being written or removed. */
const DRAFT = "draft-";

/** Longer than any write: older drafts belong to a killed server. */
const DRAFT_MS = 86_400_000;
/** An organization above this share of its storage keeps unused files for a shorter time. */
const CROWDED_SHARE = 0.8;
const CROWDED_MS = 86_400_000;

type CollectTreesDeps = Pick<ReconcileDeps, "config" | "db" | "envelope" | "machine">;

/**
 * Removes unpacked project files that are old and unused: by their database's observed and desired state, and by its
 * tables. Then removes lists of trees without unpacked files, and updates the counted storage. Returns how many folders
 * were removed.
 */
export async function collectTrees(deps: CollectTreesDeps): Promise<number> {
  const { db, machine } = deps;
  const rows = await db
    .selectFrom("control.databases")
    .select(["id", "org_id", "desired", "observed", "needed_trees"])
    .execute();
  const unusedMs = await readUnusedMs(deps, [...new Set(rows.map(({ org_id: orgId }) => orgId))]);
  let removed = 0;
  for (const row of rows) {
    const folder = join(machine.paths.home, SERVER_PATHS.files, row.id);
    const counted = await countedFolders(db, row.id);
    const names = (await awaitIfExists(readdir(folder))) ?? [];
    await recountUnpacked(db, row, counted, names);
    if (names.length === 0) continue;
    const needed = row.observed === null ? [] : ((await askNeeded(deps, row.id)) ?? row.needed_trees);
    const used = new Set([
      NO_FILES,
      row.desired.tree,
      row.observed?.tree,
      ...(await treesOfReleases(db, row.id)),
      ...(needed ?? names.filter((name) => !name.startsWith(DRAFT))),
    ]);
    const leftovers: string[] = [];
    for (const name of names) {
      const oldMs = name.startsWith(DRAFT) ? DRAFT_MS : (unusedMs.get(row.org_id) ?? UNUSED_MS);
      if (used.has(name) || !(await moveAside(folder, name, oldMs))) {
        leftovers.push(name);
        continue;
      }
      await deleteUnpacked(db, { database_id: row.id, folder: name });
      removed += 1;
    }
    await sql`update control.trees set used_at = now() where org_id = ${row.org_id} and digest = any(${leftovers})`.execute(
      db,
    );
  }
  await sql`update control.trees t set used_at = now() where ${isNamed("tree", "t")}`.execute(db);
  await sql`delete from control.trees t where ${isStale} and not ${isNamed("tree", "t")}`.execute(db);
  return removed;
}

/** How long each organization keeps unused files. */
async function readUnusedMs(
  { config, db }: CollectTreesDeps,
  orgIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { storage } = config.quotas;
  const found = new Map<string, number>();
  for (const orgId of orgIds) {
    const { total } = await readStorageUse(db, orgId);
    const share = Math.max(total.bytes / storage.max_bytes, total.files / storage.max_files);
    found.set(orgId, share > CROWDED_SHARE ? CROWDED_MS : UNUSED_MS);
  }
  return found;
}

/** Trees of its services' releases, for rollbacks. */
async function treesOfReleases(db: CollectTreesDeps["db"], databaseId: string): Promise<string[]> {
  const rows = await db
    .selectFrom("control.releases as r")
    .innerJoin("control.services as s", "s.id", "r.service_id")
    .select("r.tree")
    .distinct()
    .where("s.database_id", "=", databaseId)
    .execute();
  return rows.flatMap(({ tree }) => tree ?? []);
}

/** The trees that a database's tables need, which only its pod knows. Undefined without an answer. */
export async function askNeeded(
  { db, envelope, machine }: Pick<CollectTreesDeps, "db" | "envelope" | "machine">,
  databaseId: string,
): Promise<readonly string[] | undefined> {
  const token = await findPodToken({ db, envelope }, databaseId);
  if (token === undefined) return undefined;
  const { api } = await machine.driver.endpoints(databasePod(databaseId));
  return await machine.askTrees({ endpoint: api, token });
}

/** Removes a folder that is old, by renaming it first. Puts it back if it was used meanwhile. */
async function moveAside(folder: string, name: string, oldMs: number): Promise<boolean> {
  const path = join(folder, name);
  const away = join(folder, `${DRAFT}${randomBytes(8).toString("hex")}`);
  if (!(await isOlderThan(path, oldMs))) return false;
  await rename(path, away);
  const isBack =
    !(await isOlderThan(away, oldMs)) &&
    (await rename(away, path).then(
      () => true,
      // it was written again meanwhile
      () => false,
    ));
  if (!isBack) await removeReadOnly(away);
  return !isBack;
}

/** By the time of its write or last use (`materializeTree`). */
async function isOlderThan(path: string, oldMs: number): Promise<boolean> {
  const found = await awaitIfExists(lstat(path));
  return found !== undefined && found.mtimeMs < Date.now() - oldMs;
}
