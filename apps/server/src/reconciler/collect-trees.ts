import { randomBytes } from "node:crypto";
import { lstat, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { whenThere } from "@appdb/adapters/files/if-there";
import { sql } from "kysely";
import { SERVER_PATHS } from "../config.ts";
import { removeReadOnly } from "../control-plane/blobs/materialize-tree.ts";
import { databasePlaces } from "../pods/database-places.ts";
import { findPodToken } from "../pods/pod-token.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { NO_FILES } from "./prepare-pod.ts";
import { isNamed, isStale, UNUSED_MS } from "./unused.ts";

/** Of what is being written, or removed. */
const DRAFT = "draft-";

type CollectDeps = Pick<ReconcileDeps, "db" | "envelope" | "machine">;

/**
 * Removes project files that lie unpacked and that nothing uses: they are neither what their database has or is to have, nor what one of
 * its tables was made from, nor young. Then the lists of which nothing is unpacked any more. Answers how many folders went.
 */
export async function collectTrees(deps: CollectDeps): Promise<number> {
  const { db, machine } = deps;
  const rows = await db
    .selectFrom("control.databases")
    .select(["id", "org_id", "desired", "observed", "needed_trees"])
    .execute();
  let removed = 0;
  for (const row of rows) {
    const folder = join(machine.place.home, SERVER_PATHS.files, row.id);
    const names = (await whenThere(readdir(folder))) ?? [];
    if (names.length === 0) continue;
    const needed = row.observed === null ? [] : ((await askNeeded(deps, row.id)) ?? row.needed_trees);
    const kept = new Set([
      NO_FILES,
      row.desired.tree,
      row.observed?.tree,
      ...(await treesOfReleases(db, row.id)),
      ...(needed ?? names.filter((name) => !name.startsWith(DRAFT))),
    ]);
    const left: string[] = [];
    for (const name of names) {
      if (!kept.has(name) && (await takeAway(folder, name))) removed += 1;
      else left.push(name);
    }
    await sql`update control.trees set used_at = now() where org_id = ${row.org_id} and digest = any(${left})`.execute(
      db,
    );
  }
  await sql`update control.trees t set used_at = now() where ${isNamed("tree", "t")}`.execute(db);
  await sql`delete from control.trees t where ${isStale} and not ${isNamed("tree", "t")}`.execute(db);
  return removed;
}

/** Of releases of its services: a rollback finds them as they were. */
async function treesOfReleases(db: CollectDeps["db"], database_id: string): Promise<string[]> {
  const rows = await db
    .selectFrom("control.releases as r")
    .innerJoin("control.services as s", "s.id", "r.service_id")
    .select("r.tree")
    .distinct()
    .where("s.database_id", "=", database_id)
    .execute();
  return rows.flatMap(({ tree }) => tree ?? []);
}

/** Which trees the tables of a database were made from, which its pod alone can tell; undefined when none answers. */
export async function askNeeded(
  { db, envelope, machine }: CollectDeps,
  database_id: string,
): Promise<readonly string[] | undefined> {
  const token = await findPodToken({ db, envelope }, database_id);
  return token && (await machine.askTrees(databasePlaces(machine.place, database_id).socket, token));
}

/** Removes a folder that was not used for long; it is gone at once. One that somebody uses at this moment is put back. */
async function takeAway(folder: string, name: string): Promise<boolean> {
  const path = join(folder, name);
  const away = join(folder, `${DRAFT}${randomBytes(8).toString("hex")}`);
  if (!(await isOld(path))) return false;
  await rename(path, away);
  const is_back =
    !(await isOld(away)) &&
    (await rename(away, path).then(
      () => true,
      // it was written again meanwhile
      () => false,
    ));
  if (!is_back) await removeReadOnly(away);
  return !is_back;
}

/** By when it was written, or asked for last (`materializeTree`). */
async function isOld(path: string): Promise<boolean> {
  const found = await whenThere(lstat(path));
  return found !== undefined && found.mtimeMs < Date.now() - UNUSED_MS;
}
