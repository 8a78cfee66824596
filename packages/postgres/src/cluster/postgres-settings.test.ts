import { expect, test } from "vitest";
import { boundWal, postgresSettings } from "./postgres-settings.ts";

const small = { cpu: 0.5, memory_mb: 256, disk_gb: 1, workers: 1 };
const large = { cpu: 8, memory_mb: 32_768, disk_gb: 500, workers: 8 };

test("derives memory settings from the size that stay below it in total", () => {
  const of = (memoryMb: number) => {
    const settings = postgresSettings({ ...small, memory_mb: memoryMb });
    return (
      Number.parseInt(settings.shared_buffers ?? "", 10) + Number.parseInt(settings.maintenance_work_mem ?? "", 10)
    );
  };
  for (const memoryMb of [256, 512, 1_024, 4_096, 65_536]) expect(of(memoryMb)).toBeLessThan(memoryMb / 4);
  expect(of(4_096)).toBeGreaterThan(of(512));
});

test("limits the write-ahead log to its share of the disk", () => {
  expect(postgresSettings(small)).toMatchObject({
    max_wal_size: "128MB",
    min_wal_size: "16MB",
    temp_file_limit: "128MB",
  });
  expect(postgresSettings(large)).toMatchObject({ max_wal_size: "4096MB", min_wal_size: "256MB" });
});

test("half a core gets no parallel workers and eight get some", () => {
  expect(postgresSettings(small)).toMatchObject({ max_parallel_workers_per_gather: "0", autovacuum_max_workers: "1" });
  expect(postgresSettings(large)).toMatchObject({ max_parallel_workers_per_gather: "4", autovacuum_max_workers: "3" });
});

test("bounds the write-ahead log by the machine's disk, whatever the database may use of it", () => {
  const settings = { max_wal_size: "1280MB", min_wal_size: "160MB" };
  const on = (diskMb: number) => boundWal(settings, diskMb * 1024 ** 2);
  expect(on(2_100)).toEqual({ max_wal_size: "131MB", min_wal_size: "65MB" });
  expect(on(400)).toEqual({ max_wal_size: "64MB", min_wal_size: "32MB" });
  expect(on(1_000_000)).toEqual(settings);
  expect(boundWal(settings, 1_000_000 * 1024 ** 2, 1024 ** 3)).toEqual({
    max_wal_size: "1024MB",
    min_wal_size: "160MB",
  });
});
