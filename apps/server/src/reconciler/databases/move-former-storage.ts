import { lstat, mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { UserRange } from "@appdb/pods/driver/pod-users";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { withTenantFolder } from "@appdb/system/files/tenant-files";
import { SERVER_PATHS } from "../../config/config.ts";
import { isUuid } from "../../database/uuid.ts";
import { DATABASE_PARTS, databasePaths } from "../../pods/database-paths.ts";
import { makeTraversable } from "../../pods/make-folder.ts";
import { SERVICE_LOG } from "../../pods/service-paths.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { endPods } from "./stop-database.ts";

/*
 * Version 0.8.0 gave a pod the whole folder `databases/<id>`: cluster, `log`, and `services/<service
 * id>/{log,scratch-N}`. A pod could create links there. Now the server owns the folder, and the pod writes to folders
 * below it. Renames move everything, relative to descriptors of the pods' folders. `moving-databases/<id>` is complete
 * before it is renamed back.
 */

type MoveDeps = Pick<ReconcileDeps, "machine">;

/**
 * Moves the storage of all databases. A failed move keeps the old storage and is retried when its database starts.
 * Returns the moved databases, whose pods have ended.
 */
export async function moveAllFormerStorage(deps: MoveDeps & Pick<ReconcileDeps, "log">): Promise<string[]> {
  const { log, machine } = deps;
  const ids = new Set<string>();
  for (const folder of [SERVER_PATHS.databases, SERVER_PATHS.movingDatabases]) {
    for (const name of (await awaitIfExists(readdir(join(machine.paths.home, folder)))) ?? [])
      if (isUuid(name)) ids.add(name);
  }
  const moved: string[] = [];
  for (const id of ids) {
    try {
      if (await moveFormerStorage(deps, id)) moved.push(id);
    } catch (error) {
      log.error({ err: error, db: id }, "could not move the storage of a database");
    }
  }
  if (moved.length > 0) log.info({ databases: moved.length }, "the storage of databases was moved");
  return moved;
}

/**
 * Ends a database's pods and moves its storage, if version 0.8.0 left it. Returns whether it did. Safe to repeat and to
 * kill.
 */
export async function moveFormerStorage(deps: MoveDeps, databaseId: string): Promise<boolean> {
  const { paths, pod_users: podUsers } = deps.machine;
  const { folder, services_folder: servicesFolder } = databasePaths(paths, databaseId);
  const moving = join(paths.home, SERVER_PATHS.movingDatabases, databaseId);
  const data = join(moving, DATABASE_PARTS.data);
  const isMoving = (await awaitIfExists(lstat(moving))) !== undefined;
  const is_former = await isPreviousLayout(folder, podUsers);
  if (!isMoving && !is_former) return false;
  await endPods(deps, databaseId);
  await mkdir(moving, { recursive: true, mode: 0o711 });
  if (is_former && (await awaitIfExists(lstat(data))) === undefined) await rename(folder, data);
  await withTenantFolder(data, async (path) => {
    await takeFolder(path, DATABASE_PARTS.log, join(moving, DATABASE_PARTS.log));
    await takeServiceLogs(join(path, "services"), servicesFolder);
    // scratch files of ended instances
    await removeFolder(join(path, "services"));
  });
  await rename(moving, folder);
  return true;
}

/** Whether a pod owns the folder or it contains a cluster, which only the old layout has. */
async function isPreviousLayout(folder: string, { count, first }: UserRange): Promise<boolean> {
  const found = await awaitIfExists(lstat(folder));
  if (found === undefined) return false;
  const hasCluster = (await awaitIfExists(lstat(join(folder, "postgres")))) !== undefined;
  return hasCluster || (found.uid >= first && found.uid < first + count);
}

async function takeServiceLogs(previousFolder: string, servicesFolder: string): Promise<void> {
  await withTenantFolder(previousFolder, async (path) => {
    for (const name of (await readdir(path)).filter(isUuid)) {
      await withTenantFolder(join(path, name), async (service) => {
        if ((await awaitIfExists(lstat(join(service, SERVICE_LOG))))?.isDirectory() !== true) return;
        for (const folder of [servicesFolder, join(servicesFolder, name)]) await makeTraversable(folder);
        await takeFolder(service, SERVICE_LOG, join(servicesFolder, name, SERVICE_LOG));
      });
    }
  });
}

/** Moves a folder out of a pod's folder. Anything else of that name was put there by a pod and is removed. */
async function takeFolder(from: string, name: string, to: string): Promise<void> {
  if ((await awaitIfExists(lstat(to))) !== undefined) return;
  if (
    (await awaitIfExists(rename(join(from, name), to))) === undefined &&
    (await awaitIfExists(lstat(to))) === undefined
  )
    return;
  if ((await lstat(to)).isDirectory()) return;
  await removeFolder(to);
}
