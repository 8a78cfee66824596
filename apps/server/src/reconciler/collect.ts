import { chmod, readdir, rm, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import { SERVER_PATHS } from "../config.ts";
import { databasePlaces } from "../pods/database-places.ts";
import { findPodToken } from "../pods/pod-token.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { NO_FILES } from "./prepare-pod.ts";
import { removeOrphanStorage } from "./resume-databases.ts";

/** What nothing uses any more is kept for so long: an update that goes back finds it. */
const UNUSED = "7 days";
const UNUSED_MS = 7 * 86_400_000;
const LINES = "30 days";

/** Removes images, project files, blobs and storage that nothing uses any more, and what operations said long ago. */
export async function collect(deps: ReconcileDeps): Promise<void> {
  const images = await collectImages(deps);
  const trees = await collectTrees(deps);
  const blobs = await collectBlobs(deps);
  const databases = await removeOrphanStorage(deps);
  await sql`delete from control.operation_lines l using control.operations p
    where p.id = l.operation_id and p.ended_at < now() - ${LINES}::interval`.execute(deps.db);
  if (images + trees + blobs + databases > 0) {
    deps.log.info({ images, trees, blobs, databases }, "what nothing uses any more was removed");
  }
}

/** Whether a database is to have it, or has it. */
const isUsed = (column: "environment" | "tree", row: string) =>
  sql<boolean>`exists (select from control.databases d where d.org_id = ${sql.ref(`${row}.org_id`)}
    and ${sql.ref(`${row}.${column === "tree" ? "digest" : "hash"}`)} in (d.desired ->> ${sql.lit(column)}, d.observed ->> ${sql.lit(column)}))`;

async function collectImages({ db, machine }: ReconcileDeps): Promise<number> {
  await sql`update control.images i set used_at = now() where ${isUsed("environment", "i")}`.execute(db);
  const { rows } = await sql<{ org_id: string; hash: string }>`delete from control.images i
    where used_at < now() - ${UNUSED}::interval and not ${isUsed("environment", "i")} returning org_id, hash`.execute(
    db,
  );
  for (const { org_id, hash } of rows) await machine.removeImage(org_id, hash);
  return rows.length;
}

/**
 * The lists, and what lies unpacked of those that their databases do not need: rows are computed by the tree of their table's last update,
 * which only a pod that runs can tell. Of a database that is asleep everything stays.
 */
async function collectTrees({ db, envelope, machine }: ReconcileDeps): Promise<number> {
  await sql`update control.trees t set used_at = now() where ${isUsed("tree", "t")}`.execute(db);
  await sql`delete from control.trees t
    where used_at < now() - ${UNUSED}::interval and not ${isUsed("tree", "t")}`.execute(db);
  const rows = await db.selectFrom("control.databases").select(["id", "desired", "observed"]).execute();
  let removed = 0;
  for (const { id, desired, observed } of rows) {
    const folder = join(machine.place.home, SERVER_PATHS.files, id);
    const token = await findPodToken({ db, envelope }, id);
    const needed = token && (await machine.askTrees(databasePlaces(machine.place, id).socket, token));
    if (needed === undefined) continue;
    const kept = new Set([NO_FILES, desired.tree, observed?.tree, ...needed]);
    for (const name of await namesIn(folder)) {
      const path = join(folder, name);
      if (kept.has(name) || !(await isOld(path))) continue;
      await removeReadOnly(path);
      removed += 1;
    }
  }
  return removed;
}

/** Rows first: what is uploaded again meanwhile is asked for again, and found missing. */
async function collectBlobs({ db, machine }: ReconcileDeps): Promise<number> {
  const { rows } = await sql<{ org_id: string; digest: string }>`
    with used as materialized (
      select distinct t.org_id, chunk.digest from control.trees t,
        jsonb_array_elements(t.entries) entry, jsonb_array_elements_text(entry -> 'chunks') chunk (digest))
    delete from control.blobs b where b.used_at < now() - ${UNUSED}::interval
      and not exists (select from used u where u.org_id = b.org_id and u.digest = b.digest)
    returning b.org_id, b.digest`.execute(db);
  const folder = join(machine.place.home, SERVER_PATHS.blobs);
  for (const { org_id, digest } of rows) {
    await unlink(join(folder, org_id, digest.slice(0, 2), digest)).catch(ignoreMissing);
  }
  return rows.length;
}

async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(ignoreMissing);
  return found !== undefined && found.birthtimeMs < Date.now() - UNUSED_MS;
}

/** Removes a folder in which nobody may write. */
export async function removeReadOnly(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(ignoreMissing);
  if (entries === undefined) return;
  await chmod(folder, 0o700);
  for (const entry of entries) if (entry.isDirectory()) await removeReadOnly(join(folder, entry.name));
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw error;
}
