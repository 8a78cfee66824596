import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ControlGroups } from "./control-groups.ts";
import { allocatorSettings, boundAllPods, boundPod, heapOptions, podGroups, podsMemory } from "./sandbox-bounds.ts";

const MEGABYTE = 1024 ** 2;

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "groups-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Groups in the format of a version, each with its limit files. */
function groupsOf(version: 1 | 2, groups: readonly string[]): ControlGroups {
  const files =
    version === 2
      ? ["cpu.max", "cpu.weight", "memory.max", "memory.swap.max", "cgroup.subtree_control"]
      : ["cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.shares", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
  for (const group of ["", "appdb", ...groups.map((group) => join("appdb", group))]) {
    mkdirSync(join(root, group), { recursive: true });
    for (const file of [...files, "pids.max"]) writeFileSync(join(root, group, file), "");
  }
  const tree = { version, root, own: root };
  return new ControlGroups({ cpu: tree, memory: tree, pids: tree }, "/appdb");
}

test.each([
  [2, "memory.max", "memory.swap.max"],
  [1, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"],
] as const)("limits all pods together, version %i", (version, memory, swap) => {
  const names = podGroups("d", "p");
  const groups = groupsOf(version, [names.database, names.pod, names.engine, names.code]);
  boundPod(groups, names, { cpu: 1, memory_mb: 512, tasks: 64 }, null);
  const max = String(podsMemory(totalmem() / MEGABYTE) * MEGABYTE);
  expect(readFileSync(join(root, "appdb", memory), "utf8")).toBe(max);
  expect(readFileSync(join(root, "appdb", swap), "utf8")).toBe(version === 2 ? "0" : max);
});

test("reserves a share of the machine for the server", () => {
  expect([512, 4_096, 65_536].map(podsMemory)).toEqual([256, 3_584, 61_440]);
});

test("starts pods while older ones exceed the limit", () => {
  const refuse = (code: string) => ({
    boundMemory: () => {
      throw Object.assign(new Error(code), { code });
    },
  });
  expect(() => boundAllPods(refuse("EBUSY"))).not.toThrow();
  expect(() => boundAllPods(refuse("EACCES"))).toThrow("EACCES");
});

test.each([
  [256, 128, 4],
  [1_024, 512, 16],
  [65_536, 4_096, 16],
])("the heap of a pod with %i MB leaves memory for PostgreSQL", (memoryMb, oldMb, newMb) => {
  const options = [`--max-old-space-size=${oldMb}`, `--max-semi-space-size=${newMb}`];
  expect(heapOptions({ memory_mb: memoryMb })).toEqual(options);
});

test("only small pods return freed buffers at once", () => {
  expect(Object.keys(allocatorSettings({ memory_mb: 256 }))).toEqual([
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
  ]);
  expect(allocatorSettings({ memory_mb: 1_024 })).toEqual({});
});
