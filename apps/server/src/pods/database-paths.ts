import { join } from "node:path";
import type { PodName } from "@appdb/pods/driver/pod-driver";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { SERVER_PATHS } from "../config/config.ts";

/** Where a server keeps what belongs to databases: its home, and the folder for sockets (XDG_RUNTIME_DIR). */
export interface PodServerPaths {
  readonly home: string;
  readonly runtime_base: string | undefined;
}

/** What a database's folder consists of: each is its pod's to write, and no folder around it is. */
export const DATABASE_PARTS = { data: "data", log: "log" } as const;

/** Among the trees of a database: a folder in which there is nothing. */
export const NO_FILES = "none";

/** Where what belongs to one database lies on this machine. */
export interface DatabasePaths {
  /** The server's own; what the pod writes lies in folders of their own below it. */
  readonly folder: string;
  readonly data_folder: string;
  readonly log_folder: string;
  /** Of all its services; the server's own. */
  readonly services_folder: string;
  /** Each tree under its digest. */
  readonly files_folder: string;
  readonly run_folder: string;
}

/** The pod of a database. */
export function databasePod(databaseId: string): PodName {
  return { id: `db-${databaseId}`, database_id: databaseId };
}

/** Names the places of a database, by its id alone: they stay where they are when it is renamed. @throws postgres_failed */
export function databasePaths({ home, runtime_base: runtimeBase }: PodServerPaths, databaseId: string): DatabasePaths {
  const folder = join(home, SERVER_PATHS.databases, databaseId);
  return {
    folder,
    data_folder: join(folder, DATABASE_PARTS.data),
    log_folder: join(folder, DATABASE_PARTS.log),
    services_folder: join(home, SERVER_PATHS.services, databaseId),
    files_folder: join(home, SERVER_PATHS.files, databaseId),
    run_folder: nameRuntimeFolder(folder, runtimeBase),
  };
}

/** Where the environment of an organization lies once it is built. */
export function imageFolder(home: string, orgId: string, hash: string): string {
  return join(home, SERVER_PATHS.images, orgId, hash);
}
