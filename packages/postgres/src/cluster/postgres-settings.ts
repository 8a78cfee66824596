import type { Resources } from "@appdb/contract/pod-spec";

const MB_PER_GB = 1024;

/** Disk budget of the write-ahead log in megabytes, reserved so that data cannot displace it. */
export function walBudgetMb({ disk_gb: diskGb }: Pick<Resources, "disk_gb">): number {
  return clamp((diskGb * MB_PER_GB) / 8, 64, 4_096);
}

/** Maximum share of the machine's disk that the write-ahead log of one server uses. */
const WAL_SHARE = 16;

/**
 * The settings with a write-ahead log that is small in proportion to the disk, whatever the database may use of it. Log
 * that may still be written fits into what others leave free on the disk.
 */
export function boundWal<T extends Readonly<Record<string, string>>>(
  settings: T,
  diskBytes: number,
  keptFreeBytes = Number.POSITIVE_INFINITY,
): T {
  const share = clamp(Math.min(diskBytes / WAL_SHARE, keptFreeBytes) / 1024 ** 2, 64, 4_096);
  const max = Math.min(Number.parseInt(settings.max_wal_size ?? "", 10) || share, share);
  const min = Math.min(Number.parseInt(settings.min_wal_size ?? "", 10) || max, Math.floor(max / 2));
  return { ...settings, max_wal_size: mb(max), min_wal_size: mb(min) };
}

/**
 * PostgreSQL settings for a database of this size. The pods of a database share its memory: an eighth is PostgreSQL's
 * cache; connections, the engine and the application's functions use the rest. Omits processes that a small database
 * does not need, so that an idle one costs little.
 */
export function postgresSettings(resources: Resources): Readonly<Record<string, string>> {
  const { cpu, memory_mb: memoryMb, disk_gb: diskGb } = resources;
  const cores = Math.max(1, Math.floor(cpu));
  const walMb = walBudgetMb(resources);
  return {
    max_connections: String(clamp(memoryMb / 8, 40, 400)),
    shared_buffers: mb(clamp(memoryMb / 8, 16, 8_192)),
    effective_cache_size: mb(clamp(memoryMb / 2, 64, 262_144)),
    work_mem: mb(clamp(memoryMb / 128, 2, 256)),
    maintenance_work_mem: mb(clamp(memoryMb / 16, 16, 2_048)),
    // -1: a thirty-second of the cache
    wal_buffers: "-1",
    max_wal_size: mb(walMb),
    min_wal_size: mb(clamp(walMb / 8, 16, 256)),
    // a statement that spills more would fill the shared disk
    temp_file_limit: mb(clamp((diskGb * MB_PER_GB) / 8, 64, 1_048_576)),
    max_worker_processes: String(cores + 1),
    max_parallel_workers: String(cores),
    max_parallel_workers_per_gather: String(clamp(cores / 2, 0, 4)),
    max_parallel_maintenance_workers: String(clamp(cores / 2, 0, 4)),
    autovacuum_max_workers: String(clamp(cores, 1, 3)),
    autovacuum_worker_slots: "3",
  };
}

function mb(count: number): string {
  return `${count}MB`;
}

/** Rounds a number and keeps it within limits. */
function clamp(value: number, min: number, max: number): number {
  return Math.floor(Math.min(max, Math.max(min, value)));
}
