import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ControlGroups, type GroupTree } from "./control-groups.ts";
import { takeOwnGroup } from "./open-groups.ts";

const FILES = ["cgroup.procs", "cgroup.subtree_control", "cpu.max", "cpu.weight", "memory.max", "pids.max"];

/** A folder that looks like version 2 groups, with the named subgroups. */
function makeTree(groups: readonly string[], controllers = "cpu io memory pids") {
  const root = mkdtempSync(join(tmpdir(), "groups-"));
  for (const group of ["", ...groups]) {
    mkdirSync(join(root, group), { recursive: true });
    writeFileSync(join(root, group, "cgroup.controllers"), `${controllers}\n`);
    for (const file of FILES) writeFileSync(join(root, group, file), "");
  }
  return {
    root,
    read: (path: string) => readFileSync(join(root, path), "utf8"),
    treeOf: (own: string): GroupTree => ({ version: 2, root, own: join(root, own) }),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** Members of one group; more processes appear while the first round moves them. */
function membersOf(first: readonly number[], born: readonly number[], relatives: readonly number[]) {
  const here = new Set(first);
  const moved: (readonly [string, number])[] = [];
  return {
    moved,
    list: () => [...here],
    move(folder: string, pid: number) {
      here.delete(pid);
      if (moved.length === 0) for (const one of born) here.add(one);
      moved.push([folder, pid]);
    },
    relatives: () => new Set(relatives),
  };
}

test("moves an ordinary user's server out of its delegated group", () => {
  using tree = makeTree(["unit"]);
  const members = membersOf([10, 11], [12], [10, 11, 12]);
  const server = join(tree.root, "unit/appdb-server");
  expect(takeOwnGroup({ pids: tree.treeOf("unit") }, members)).toBe(join(tree.root, "unit"));
  expect(members.moved).toEqual([10, 11, 12].map((pid) => [server, pid]));
  expect(takeOwnGroup({ pids: tree.treeOf("unit/appdb-server") }, membersOf([], [], []))).toBe(join(tree.root, "unit"));
});

test("refuses a group with foreign processes or too few controllers", () => {
  using tree = makeTree(["session"], "memory pids");
  const members = membersOf([10, 99], [], [10]);
  const take = () => takeOwnGroup({ pids: tree.treeOf("session") }, members);
  expect(take).toThrow(/session of this process has no cpu/);
  writeFileSync(join(tree.root, "session/cgroup.controllers"), "cpu memory pids\n");
  expect(take).toThrow(/has other processes too \(99\)/);
  expect(members.moved).toEqual([]);
});

test("subgroups of a delegated group use version 2 files and leave parents unchanged", () => {
  const group = "system/unit/appdb/db-1";
  using tree = makeTree(["system", "system/unit", "system/unit/appdb", group]);
  const one = tree.treeOf("system/unit");
  const groups = new ControlGroups({ cpu: one, memory: one, pids: one }, "/system/unit/appdb", one.own);
  groups.make("db-1");
  const enabled = ["", "system/", "system/unit/", "system/unit/appdb/", `${group}/`];
  expect(enabled.map((at) => tree.read(`${at}cgroup.subtree_control`) !== "")).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
  groups.bound("db-1", { cpu: 0.5, memory_mb: 64, tasks: 32 });
  groups.weigh("db-1", 40);
  const bounds = ["cpu.max", "cpu.weight", "memory.max", "pids.max"].map((file) => tree.read(`${group}/${file}`));
  expect(bounds).toEqual(["50000 100000", "400", String(64 * 1024 * 1024), "32"]);
  expect(existsSync(join(tree.root, group, "memory.swap.max"))).toBe(false);
  expect(groups.entrances("db-1")).toEqual([join(tree.root, group, "cgroup.procs")]);
});

test("reads out-of-memory kills and memory use in version 2 format", () => {
  using tree = makeTree(["appdb", "appdb/db-1"]);
  const one = tree.treeOf("");
  const groups = new ControlGroups({ cpu: one, memory: one, pids: one }, "/appdb");
  const write = (file: string, text: string) => writeFileSync(join(tree.root, "appdb/db-1", file), text);
  expect([groups.memoryKills("db-1"), groups.memoryBytes("db-1")]).toEqual([0, undefined]);
  write("memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n");
  write("memory.current", "5000\n");
  write("memory.stat", "anon 1000\ninactive_anon 10\nactive_file 900\ninactive_file 3000\n");
  expect([groups.memoryKills("db-1"), groups.memoryBytes("db-1")]).toEqual([1, 2000]);
});
