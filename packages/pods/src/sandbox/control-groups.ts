import { chownSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import type { PodLimits } from "../driver/pod-driver.ts";

/** Controllers that limit a group of processes. */
const CONTROLLERS = ["cpu", "memory", "pids"] as const;
export type Controller = (typeof CONTROLLERS)[number];

/** Location of a controller's groups: a separate tree (version 1) or the unified tree (version 2). */
export interface GroupTree {
  readonly version: 1 | 2;
  /** Folder of the topmost visible group. */
  readonly root: string;
  /** Group of this process. */
  readonly own: string;
}
export type GroupTrees = Readonly<Record<Controller, GroupTree>>;

const CPU_PERIOD_US = 100_000;
const LEAST_CPU_US = 1_000;
const BYTES_PER_MB = 1024 * 1024;
const REMOVE_TIMEOUT_MS = 5_000;
const POLL_MS = 5;
/** Value of version 1 for a group without a limit. */
const UNBOUNDED_BYTES = 2 ** 60;

/**
 * Finds the controllers that the machine offers. `mounts` and `own` are the texts of /proc/self/mountinfo and
 * /proc/self/cgroup.
 */
export function findGroupTrees(
  mounts: string,
  own: string,
  readControllers = (root: string) => readFileSync(join(root, "cgroup.controllers"), "utf8"),
): Partial<GroupTrees> {
  const groups = own.split("\n").map((line) => line.split(":"));
  const found: Partial<Record<Controller, GroupTree>> = {};
  for (const line of mounts.split("\n")) {
    // a variable number of fields up to a dash, then file system type, source and options
    const [before = "", after = ""] = line.split(" - ");
    const [, , , mountedGroup = "", point = ""] = before.split(" ");
    const [kind, , options = ""] = after.split(" ");
    if (kind !== "cgroup" && kind !== "cgroup2") continue;
    const version = kind === "cgroup" ? 1 : 2;
    const root = unescapePath(point);
    const offered = version === 1 ? options.split(",") : readControllers(root).trim().split(" ");
    for (const controller of CONTROLLERS) {
      if (!offered.includes(controller)) continue;
      const entry = groups.find(([, names = ""]) =>
        version === 1 ? names.split(",").includes(controller) : names === "",
      );
      const path = entry?.slice(2).join(":") ?? "/";
      const inside = path.startsWith(mountedGroup) ? path.slice(mountedGroup.replace(/\/$/, "").length) : "/";
      found[controller] ??= { version, root, own: join(root, inside) };
    }
  }
  return found;
}

/** Whether all controllers were found. */
export function hasAllTrees(trees: Partial<GroupTrees>): trees is GroupTrees {
  return missingControllers(trees).length === 0;
}

/** The controllers that were not found. */
export function missingControllers(trees: Partial<GroupTrees>): Controller[] {
  return CONTROLLERS.filter((controller) => trees[controller] === undefined);
}

/** Control groups below one parent group. A group is named by its path from there: `db-1/pod-1/engine`. */
export class ControlGroups {
  readonly #trees: GroupTrees;
  readonly #parent: string;
  readonly #ownedFrom: string;

  /**
   * `parent`: path below each tree's root, `/appdb`; created on demand. `ownedFrom`: delegated folder; the groups above it
   * belong to others and are not changed (version 2 only).
   */
  constructor(trees: GroupTrees, parent: string, ownedFrom = "") {
    this.#trees = trees;
    this.#parent = parent;
    this.#ownedFrom = ownedFrom;
  }

  /** Creates the group and its parents. Safe to repeat. */
  make(group: string): void {
    const parts = join(this.#parent, group)
      .split("/")
      .filter((part) => part !== "");
    for (const [controller, { root, version }] of this.#each()) {
      for (let count = 0; count <= parts.length; count += 1) {
        const folder = join(root, ...parts.slice(0, count));
        if (folder.length < this.#ownedFrom.length) continue;
        mkdirSync(folder, { recursive: true });
        if (version === 2 && count < parts.length) enable(folder, controller);
      }
    }
  }

  /**
   * Limits all processes of the group together; also works for a running group. Groups without a limit inherit those
   * above.
   */
  bound(group: string, limits: PodLimits): void {
    const cpuUs = Math.max(LEAST_CPU_US, Math.round(limits.cpu * CPU_PERIOD_US));
    if (this.#trees.cpu.version === 1) {
      this.#write("cpu", group, "cpu.cfs_period_us", String(CPU_PERIOD_US));
      this.#write("cpu", group, "cpu.cfs_quota_us", String(cpuUs));
    } else this.#write("cpu", group, "cpu.max", `${cpuUs} ${CPU_PERIOD_US}`);
    this.boundMemory(group, limits.memory_mb);
    this.#write("pids", group, "pids.max", String(limits.tasks));
  }

  /**
   * Limits the memory of the group's processes together, swap included. Version 1 refuses a limit below the current
   * use.
   */
  boundMemory(group: string, memoryMb: number): void {
    const memoryBytes = String(memoryMb * BYTES_PER_MB);
    if (this.#trees.memory.version === 1) {
      this.#boundMemory(group, memoryBytes);
      return;
    }
    this.#write("memory", group, "memory.max", memoryBytes);
    this.#writeIfThere("memory", group, "memory.swap.max", "0");
  }

  /** Sets a group's share when sibling groups compete for processors: 1 to 100, usually 10. */
  weigh(group: string, weight: number): void {
    if (this.#trees.cpu.version === 1)
      this.#write("cpu", group, "cpu.shares", String(Math.round((weight * 1024) / 10)));
    else this.#write("cpu", group, "cpu.weight", String(weight * 10));
  }

  /** Lets a user move their processes between this group and its subgroups. */
  delegate(group: string, uid: number): void {
    for (const file of this.entrances(group)) chownSync(file, uid, uid);
  }

  /** Files that put a process into the group when its id is written to them. */
  entrances(group: string): string[] {
    const folders = this.#each().map(([controller]) => this.folder(controller, group));
    return [...new Set(folders)].map((folder) => join(folder, "cgroup.procs"));
  }

  /** Folder of the group. */
  folder(controller: Controller, group: string): string {
    return join(this.#trees[controller].root, this.#parent, group);
  }

  /** Processes of the group and its subgroups; empty when the group does not exist. */
  processes(group: string): number[] {
    const pids = new Set<number>();
    for (const folder of walk(this.folder("pids", group))) {
      const text = readIfThere(join(folder, "cgroup.procs")) ?? "";
      for (const line of text.split("\n")) if (line !== "" && line !== "0") pids.add(Number(line));
    }
    return [...pids];
  }

  /** Memory of its processes in bytes, without reclaimable file cache. Undefined when the group does not exist. */
  memoryBytes(group: string): number | undefined {
    const folder = this.folder("memory", group);
    const isFirst = this.#trees.memory.version === 1;
    const used = readIfThere(join(folder, isFirst ? "memory.usage_in_bytes" : "memory.current"));
    const stat = readIfThere(join(folder, "memory.stat"));
    if (used === undefined || stat === undefined) return undefined;
    const name = isFirst ? "total_inactive_file" : "inactive_file";
    const idle = Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1] ?? 0);
    return Math.max(0, Number(used) - idle);
  }

  /** Number of the group's own processes that the out-of-memory killer ended. */
  memoryKills(group: string): number {
    const file = this.#trees.memory.version === 1 ? "memory.oom_control" : "memory.events";
    const text = readIfThere(join(this.folder("memory", group), file)) ?? "";
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  /**
   * Removes the group and its subgroups once they are empty. False when processes remain after some seconds. The kernel
   * reports a group as busy for a moment after its last process.
   */
  async remove(group: string): Promise<boolean> {
    const folders = new Set(this.#each().map(([controller]) => this.folder(controller, group)));
    for (const until = performance.now() + REMOVE_TIMEOUT_MS; ; ) {
      const remaining = [...folders].flatMap(walk).filter((folder) => !removeControlGroup(folder));
      if (remaining.length === 0) return true;
      if (performance.now() > until) return false;
      await sleep(POLL_MS);
    }
  }

  /** Removes the group if it has no processes and no subgroups. */
  removeIfEmpty(group: string): void {
    for (const [controller] of this.#each()) removeControlGroup(this.folder(controller, group));
  }

  /**
   * The memory limit may never exceed the limit of memory plus swap, so the order of the writes depends on the previous
   * values.
   */
  #boundMemory(group: string, bytes: string): void {
    const files = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
    const folder = this.folder("memory", group);
    const before = Number(readIfThere(join(folder, "memory.limit_in_bytes")) ?? UNBOUNDED_BYTES);
    for (const file of Number(bytes) <= before ? files : files.reverse())
      this.#writeIfThere("memory", group, file, bytes);
  }

  #write(controller: Controller, group: string, file: string, value: string): void {
    writeFileSync(join(this.folder(controller, group), file), value, { flag: "r+" });
  }

  /** Kernels without swap accounting lack this file and need no limit. */
  #writeIfThere(controller: Controller, group: string, file: string, value: string): void {
    if (readIfThere(join(this.folder(controller, group), file)) !== undefined)
      this.#write(controller, group, file, value);
  }

  #each(): (readonly [Controller, GroupTree])[] {
    return CONTROLLERS.map((controller) => [controller, this.#trees[controller]] as const);
  }
}

/** In version 2, a group may use only controllers that its parent enables. */
function enable(folder: string, controller: Controller): void {
  const file = join(folder, "cgroup.subtree_control");
  if ((readIfThere(file) ?? "").trim().split(" ").includes(controller)) return;
  writeFileSync(file, `+${controller}`, { flag: "r+" });
}

/** The folder and its subfolders, deepest first. Empty when it does not exist. */
function walk(folder: string): string[] {
  if (!(statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false)) return [];
  try {
    const below = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...below.flatMap(({ name }) => walk(join(folder, name))), folder];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Removes an empty group folder. False when it is not empty. */
export function removeControlGroup(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (code === "ENOENT") return true;
    if (["EBUSY", "ENOTEMPTY"].includes(code)) return false;
    throw error;
  }
}

/** Undefined when the group or its counter disappeared. */
function readIfThere(path: string): string | undefined {
  return readIfExists(() => readFileSync(path, "utf8"), ["ENOENT", "ENODEV"]);
}

/** The kernel's tables escape blanks in paths as octal numbers. */
function unescapePath(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
