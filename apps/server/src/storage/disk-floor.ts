import { appError } from "@appdb/contract/errors";
import { type DiskReserve, describeFloor, describeFreeSpace, readDiskReserve } from "@appdb/system/files/disk-reserve";
import type { ServerConfig } from "../config/config.ts";

export interface DiskFloorDeps {
  readonly config: Pick<ServerConfig, "home" | "quotas">;
}

/** Reads the free space of the home's disk. @throws the system's error if the home cannot be read */
export function readHomeDisk({ config }: DiskFloorDeps): Promise<DiskReserve> {
  return readDiskReserve(config.home, config.quotas.storage.floor_bytes);
}

/**
 * Refuses an organization's write when the server's disk is nearly full. Each pod refuses rows itself. The control
 * plane's own writes are exempt.
 * @throws disk_full
 */
export async function requireDiskSpace(deps: DiskFloorDeps): Promise<void> {
  if (deps.config.quotas.storage.floor_bytes === 0) return;
  const disk = await readHomeDisk(deps);
  if (!disk.is_reached) return;
  throw appError("disk_full", {
    detail: `The disk of the server has ${describeFreeSpace(disk)} left. Organizations cannot write below its reserve of ${describeFloor(disk)}.`,
    hint: "Ask the operator of the server to free space on its disk, then try again. Rows of running databases can be read.",
    meta: { free_bytes: disk.free_bytes, floor_bytes: disk.floor_bytes },
  });
}
