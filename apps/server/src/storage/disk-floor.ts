import { statfs } from "node:fs/promises";
import { appError } from "@appdb/contract/errors";
import type { ServerConfig } from "../config/config.ts";

/** Files that a disk must have room for; file systems without a fixed number of files report none. */
const FLOOR_FILES = 20_000;
const GIGABYTE = 1024 ** 3;

export interface DiskFloorDeps {
  readonly config: Pick<ServerConfig, "home" | "quotas">;
}

/**
 * Refuses a write of an organization when the server's disk has little room left. The control plane's own writes do not ask.
 * @throws disk_full
 */
export async function demandDisk({ config }: DiskFloorDeps): Promise<void> {
  const { floor_bytes } = config.quotas.storage;
  if (floor_bytes === 0) return;
  const disk = await statfs(config.home);
  const free_bytes = disk.bavail * disk.bsize;
  const is_short_of_files = disk.files > 0 && disk.ffree < Math.min(FLOOR_FILES, disk.files / 100);
  if (free_bytes >= floor_bytes && !is_short_of_files) return;
  const left = is_short_of_files ? `${disk.ffree} files` : `${(free_bytes / GIGABYTE).toFixed(2)} GB`;
  throw appError("disk_full", {
    detail: `The server's disk has ${left} left, and organizations write nothing below its reserve of ${floor_bytes / GIGABYTE} GB.`,
    hint: "Ask the operator of the server to free space, then try again. Databases that run go on.",
    meta: { free_bytes, floor_bytes },
  });
}
