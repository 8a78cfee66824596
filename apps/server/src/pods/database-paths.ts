import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { PodName } from "@appdb/pods/driver/pod-driver";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { SERVER_PATHS } from "../config/config.ts";

/** Where a server stores databases: its home, and the folder for sockets (XDG_RUNTIME_DIR). */
export interface PodServerPaths {
  readonly home: string;
  readonly runtime_base: string | undefined;
}

/** The parts of a database's folder that its pod may write. The folder itself is not writable. */
export const DATABASE_PARTS = { data: "data", log: "log" } as const;

/** An empty folder among a database's trees. */
export const NO_FILES = "none";

/** The paths of one database on this machine. */
export interface DatabasePaths {
  /** Owned by the server. The pod writes only to folders below it. */
  readonly folder: string;
  readonly data_folder: string;
  readonly log_folder: string;
  /** Its pods and those of its services write to it. */
  readonly media_folder: string;
  /** For all its services. Owned by the server. */
  readonly services_folder: string;
  /** Contains each tree under its digest. */
  readonly files_folder: string;
  readonly run_folder: string;
  /** Of the socket of its objects in the operator's bucket. Owned by the server. */
  readonly objects_folder: string;
}

/** The name of the socket in `objects_folder`. */
export const OBJECTS_SOCKET = "objects.sock";

/** The pod of a database. */
export function databasePod(databaseId: string): PodName {
  return { id: `db-${databaseId}`, database_id: databaseId };
}

/** The parent folder of a database's cluster. */
export function clusterFolder(home: string, databaseId: string): string {
  return join(home, SERVER_PATHS.databases, databaseId, DATABASE_PARTS.data, "postgres");
}

/** The paths of a database, from its id alone, so that a rename keeps them. @throws postgres_failed */
export function databasePaths({ home, runtime_base: runtimeBase }: PodServerPaths, databaseId: string): DatabasePaths {
  const folder = join(home, SERVER_PATHS.databases, databaseId);
  return {
    folder,
    data_folder: join(folder, DATABASE_PARTS.data),
    log_folder: join(folder, DATABASE_PARTS.log),
    media_folder: join(home, SERVER_PATHS.media, databaseId),
    services_folder: join(home, SERVER_PATHS.services, databaseId),
    files_folder: join(home, SERVER_PATHS.files, databaseId),
    run_folder: nameRuntimeFolder(folder, runtimeBase),
    objects_folder: nameRuntimeFolder(join(folder, "objects"), runtimeBase),
  };
}

/** The path of an organization's built environment. */
export function imageFolder(home: string, orgId: string, hash: string): string {
  return join(home, SERVER_PATHS.images, orgId, hash);
}

/**
 * Removes the folders for sockets of objects, which are outside of the home. No pod may run: those that see a folder would
 * not see the next one of its name.
 */
export async function removeObjectFolders(paths: PodServerPaths): Promise<void> {
  const ids = readIfExists(() => readdirSync(join(paths.home, SERVER_PATHS.databases))) ?? [];
  for (const id of ids) await removeFolder(databasePaths(paths, id).objects_folder);
}
