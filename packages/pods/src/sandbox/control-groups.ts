import { chownSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import type { PodLimits } from "../driver/pod-driver.ts";

/** What bounds a group of processes. */
const CONTROLLERS = ["cpu", "memory", "pids"] as const;
export type Controller = (typeof CONTROLLERS)[number];

/** Where a controller's groups are on this machine: in a tree of its own (version 1), or in the one of all (version 2). */
export interface GroupTree {
  readonly version: 1 | 2;
  /** The folder that stands for the group of everything that we may see. */
  readonly root: string;
  /** The group that this process is in. */
  readonly own: string;
}
export type GroupTrees = Readonly<Record<Controller, GroupTree>>;

const CPU_PERIOD_US = 100_000;
const LEAST_CPU_US = 1_000;
const BYTES_PER_MB = 1024 * 1024;
const REMOVE_TIMEOUT_MS = 5_000;
const POLL_MS = 5;
/** As version 1 says of a group without a bound. */
const UNBOUNDED_BYTES = 2 ** 60;

/**
 * Finds the controllers; those that the machine does not offer are missing. `mounts` and `own` are the texts of
 * /proc/self/mountinfo and /proc/self/cgroup.
 */
export function findGroupTrees(
  mounts: string,
  own: string,
  readControllers = (root: string) => readFileSync(join(root, "cgroup.controllers"), "utf8"),
): Partial<GroupTrees> {
  const groups = own.split("\n").map((line) => line.split(":"));
  const found: Partial<Record<Controller, GroupTree>> = {};
  for (const line of mounts.split("\n")) {
    // fields up to a dash that differ in number, then the kind of file system, its source and its options
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

/** Groups of a machine below one of them. A group is named by its path from there: `db-1/pod-1/engine`. */
export class ControlGroups {
  readonly #trees: GroupTrees;
  readonly #parent: string;
  readonly #given: string;

  /**
   * `parent`: a path below every tree's root, `/appdb`; made on demand. `given`: the folder from which on groups are ours, where
   * those above it are another's (version 2 alone): they are left as they are.
   */
  constructor(trees: GroupTrees, parent: string, given = "") {
    this.#trees = trees;
    this.#parent = parent;
    this.#given = given;
  }

  /** Makes the group with those above it. Safe to repeat. */
  make(group: string): void {
    const parts = join(this.#parent, group)
      .split("/")
      .filter((part) => part !== "");
    for (const [controller, { root, version }] of this.#each()) {
      for (let count = 0; count <= parts.length; count += 1) {
        const folder = join(root, ...parts.slice(0, count));
        if (folder.length < this.#given.length) continue;
        mkdirSync(folder, { recursive: true });
        if (version === 2 && count < parts.length) enable(folder, controller);
      }
    }
  }

  /** Bounds all processes of the group together; of a running one, too. Groups without a bound are bounded by those above. */
  bound(group: string, limits: PodLimits): void {
    const cpuUs = Math.max(LEAST_CPU_US, Math.round(limits.cpu * CPU_PERIOD_US));
    if (this.#trees.cpu.version === 1) {
      this.#write("cpu", group, "cpu.cfs_period_us", String(CPU_PERIOD_US));
      this.#write("cpu", group, "cpu.cfs_quota_us", String(cpuUs));
    } else this.#write("cpu", group, "cpu.max", `${cpuUs} ${CPU_PERIOD_US}`);
    this.boundMemory(group, limits.memory_mb);
    this.#write("pids", group, "pids.max", String(limits.tasks));
  }

  /** Bounds the memory of all processes of the group together, swap included; fails in version 1 where more is in use. */
  boundMemory(group: string, memoryMb: number): void {
    const memoryBytes = String(memoryMb * BYTES_PER_MB);
    if (this.#trees.memory.version === 1) {
      this.#boundMemory(group, memoryBytes);
      return;
    }
    this.#write("memory", group, "memory.max", memoryBytes);
    this.#writeIfThere("memory", group, "memory.swap.max", "0");
  }

  /** Of several groups below one that want all of its processors, each gets a part by its weight; 1 to 100, 10 is usual. */
  weigh(group: string, weight: number): void {
    if (this.#trees.cpu.version === 1)
      this.#write("cpu", group, "cpu.shares", String(Math.round((weight * 1024) / 10)));
    else this.#write("cpu", group, "cpu.weight", String(weight * 10));
  }

  /** Lets a user move processes of theirs between this group and those below it. */
  delegate(group: string, uid: number): void {
    for (const file of this.entrances(group)) chownSync(file, uid, uid);
  }

  /** The files into which a process's id is written so that it is in the group. */
  entrances(group: string): string[] {
    const folders = this.#each().map(([controller]) => this.folder(controller, group));
    return [...new Set(folders)].map((folder) => join(folder, "cgroup.procs"));
  }

  /** The folder that stands for the group. */
  folder(controller: Controller, group: string): string {
    return join(this.#trees[controller].root, this.#parent, group);
  }

  /** Processes of the group and of those below it; none of a group that is not there. */
  processes(group: string): number[] {
    const pids = new Set<number>();
    for (const folder of walk(this.folder("pids", group))) {
      const text = readIfThere(join(folder, "cgroup.procs")) ?? "";
      for (const line of text.split("\n")) if (line !== "" && line !== "0") pids.add(Number(line));
    }
    return [...pids];
  }

  /** Bytes that its processes need, files that the system may drop from memory left out; undefined for no group. */
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

  /** How many of the group's own processes were killed because memory had run out. */
  memoryKills(group: string): number {
    const file = this.#trees.memory.version === 1 ? "memory.oom_control" : "memory.events";
    const text = readIfThere(join(this.folder("memory", group), file)) ?? "";
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  /**
   * Removes the group and those below it, once they are empty; false when processes are left after some seconds. The system
   * says that a group is busy for a moment after its last process.
   */
  async remove(group: string): Promise<boolean> {
    const folders = new Set(this.#each().map(([controller]) => this.folder(controller, group)));
    for (const until = performance.now() + REMOVE_TIMEOUT_MS; ; ) {
      const left = [...folders].flatMap(walk).filter((folder) => !removeControlGroup(folder));
      if (left.length === 0) return true;
      if (performance.now() > until) return false;
      await sleep(POLL_MS);
    }
  }

  /** Removes the group if nothing is in it: neither processes nor other groups. */
  removeIfEmpty(group: string): void {
    for (const [controller] of this.#each()) removeControlGroup(this.folder(controller, group));
  }

  /** Memory alone may not be over memory with swap at any time: which of both goes first depends on what was before. */
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

  /** Kernels without swap accounting have no such file, and then there is nothing to bound. */
  #writeIfThere(controller: Controller, group: string, file: string, value: string): void {
    if (readIfThere(join(this.folder(controller, group), file)) !== undefined)
      this.#write(controller, group, file, value);
  }

  #each(): (readonly [Controller, GroupTree])[] {
    return CONTROLLERS.map((controller) => [controller, this.#trees[controller]] as const);
  }
}

/** In version 2 a group may use what the one above it offers. */
function enable(folder: string, controller: Controller): void {
  const file = join(folder, "cgroup.subtree_control");
  if ((readIfThere(file) ?? "").trim().split(" ").includes(controller)) return;
  writeFileSync(file, `+${controller}`, { flag: "r+" });
}

/** The folder with those below it, the deepest first; none when it is not there. */
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

/** Removes an empty folder; false when something is still in it. */
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

/** Undefined of a group, or of what counts in it, that went meanwhile. */
function readIfThere(path: string): string | undefined {
  return readIfExists(() => readFileSync(path, "utf8"), ["ENOENT", "ENODEV"]);
}

/** Blanks of a path stand as octal numbers in the kernel's tables. */
function unescapePath(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
