import { statfs } from "node:fs/promises";
import { appError } from "@appdb/contract/errors";
import type { ServerConfig } from "../config/config.ts";

/** Minimum free inodes. File systems without a fixed number report none. */
const FLOOR_FILES = 20_000;
const GIGABYTE = 1024 ** 3;

export interface DiskFloorDeps {
  readonly config: Pick<ServerConfig, "home" | "quotas">;
}

/** The disk of the server's home. */
export interface HomeDisk {
  readonly bytes: number;
  readonly free_bytes: number;
  /** Organizations cannot write below this. */
  readonly floor_bytes: number;
  readonly free_files: number;
  readonly is_short_of_files: boolean;
}

/** Reads the free space of the home's disk. @throws the system's error if the home cannot be read */
export async function readHomeDisk({ config }: DiskFloorDeps): Promise<HomeDisk> {
  const disk = await statfs(config.home);
  return {
    bytes: disk.blocks * disk.bsize,
    free_bytes: disk.bavail * disk.bsize,
    floor_bytes: config.quotas.storage.floor_bytes,
    free_files: disk.ffree,
    is_short_of_files: disk.files > 0 && disk.ffree < Math.min(FLOOR_FILES, disk.files / 100),
  };
}

/** The free space in words, or the free inodes if those are too few. */
export function describeFreeSpace({
  free_bytes: freeBytes,
  free_files: freeFiles,
  is_short_of_files: isShortOfFiles,
}: HomeDisk): string {
  return isShortOfFiles ? `${freeFiles} files` : `${(freeBytes / GIGABYTE).toFixed(2)} GB`;
}

/**
 * Refuses an organization's write when the server's disk is nearly full. The control plane's own writes are exempt.
 * @throws disk_full
 */
export async function requireDiskSpace(deps: DiskFloorDeps): Promise<void> {
  if (deps.config.quotas.storage.floor_bytes === 0) return;
  const disk = await readHomeDisk(deps);
  const { floor_bytes: floorBytes, free_bytes: freeBytes, is_short_of_files: isShortOfFiles } = disk;
  if (freeBytes >= floorBytes && !isShortOfFiles) return;
  throw appError("disk_full", {
    detail: `The server's disk has ${describeFreeSpace(disk)} left. Organizations cannot write below its reserve of ${floorBytes / GIGABYTE} GB.`,
    hint: "Ask the operator of the server to free space, then try again. Running databases continue.",
    meta: { free_bytes: freeBytes, floor_bytes: floorBytes },
  });
}
