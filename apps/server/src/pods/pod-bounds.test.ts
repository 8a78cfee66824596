import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { expect, test } from "vitest";
import { limitsWithin } from "./pod-bounds.ts";

const resources = { cpu: 1, memory_mb: 1_024, disk_gb: 1, workers: 2 };

test("a pod of a gigabyte has the server's limits, with its own workers", () => {
  expect(limitsWithin(DEFAULT_LIMITS, resources)).toEqual({ ...DEFAULT_LIMITS, workers: 2, worker_memory_mb: 512 });
});

test("a smaller pod keeps less of bodies and results", () => {
  expect(limitsWithin(DEFAULT_LIMITS, { ...resources, memory_mb: 256 })).toEqual({
    ...DEFAULT_LIMITS,
    workers: 2,
    worker_memory_mb: 128,
    body_bytes: 8 * 1024 ** 2,
    result_bytes: 16 * 1024 ** 2,
    live_bytes: 16 * 1024 ** 2,
    made_bytes: 32 * 1024 ** 2,
  });
});
