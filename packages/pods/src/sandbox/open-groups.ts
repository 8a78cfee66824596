import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { appError } from "@appdb/contract/errors";
import { readProcesses } from "@appdb/system/processes/process-table";
import {
  ControlGroups,
  findGroupTrees,
  type GroupTree,
  type GroupTrees,
  hasAllTrees,
  missingControllers,
} from "./control-groups.ts";

/** Group of an ordinary user's server, next to those of pods. */
const SERVER_GROUP = "appdb-server";
const MAX_ROUNDS = 100;

/** Lists and moves processes. */
export interface GroupMembers {
  /** Processes in the group itself, without subgroups. */
  list(folder: string): number[];
  move(folder: string, pid: number): void;
  /** Of the given processes, our own, its ancestors and all their descendants. */
  relatives(pids: readonly number[]): ReadonlySet<number>;
}

const MEMBERS: GroupMembers = {
  list: (folder) => readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number),
  move(folder, pid) {
    try {
      writeFileSync(join(folder, "cgroup.procs"), String(pid), { flag: "r+" });
    } catch (error) {
      // the process has ended
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  },
  relatives: findRelatives,
};

/**
 * Opens the control groups below `group`, a path such as `/appdb`. Root's groups are below the root group. An ordinary
 * user needs a unit with `Delegate=yes` (version 2 only); `group` is then below the group that this process was started
 * in. A group with subgroups may have no processes, so this process and its relatives move to a sibling of `group`.
 * @throws pods_unavailable where groups or the rights to make them are missing
 */
export function openControlGroups(group: string): ControlGroups {
  const read = (path: string) => readFileSync(path, "utf8");
  const trees = findGroupTrees(read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
  if (!hasAllTrees(trees)) {
    throw appError("pods_unavailable", {
      detail: `This machine has no control groups for ${missingControllers(trees).join(", ")}.`,
      hint: "Start the server with SERVICE_PODS=sandbox. It reports everything that this machine lacks",
    });
  }
  const isOfRoot = process.getuid?.() === 0 || trees.pids.version === 1;
  return isOfRoot ? new ControlGroups(trees, group) : openOwnGroups(trees, group);
}

function openOwnGroups(trees: GroupTrees, group: string): ControlGroups {
  const own = takeOwnGroup(trees, MEMBERS);
  return new ControlGroups(trees, join("/", relative(trees.pids.root, own), group), own);
}

/** Prepares the group of this process for subgroups and returns its folder. @throws pods_unavailable */
export function takeOwnGroup(trees: { readonly pids: GroupTree }, members: GroupMembers): string {
  const { own: now } = trees.pids;
  const own = basename(now) === SERVER_GROUP ? dirname(now) : now;
  const offered = readControllers(own);
  const missing = ["cpu", "memory", "pids"].filter((controller) => !offered.includes(controller));
  if (missing.length > 0) throw groupUnusable(own, `has no ${missing.join(", ")}`);
  const server = join(own, SERVER_GROUP);
  try {
    mkdirSync(server, { recursive: true });
    // new processes may appear in the old group while others are moved
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const remaining = members.list(own);
      if (remaining.length === 0) return own;
      const relatives = members.relatives(remaining);
      const foreign = remaining.filter((pid) => !relatives.has(pid));
      if (foreign.length > 0) throw groupUnusable(own, `has other processes too (${foreign.slice(0, 5).join(", ")})`);
      for (const pid of remaining) members.move(server, pid);
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (!["EACCES", "EPERM", "EROFS"].includes(code)) throw error;
    throw groupUnusable(own, "is not this user's", error);
  }
  throw groupUnusable(own, "keeps getting new processes");
}

function readControllers(folder: string): string[] {
  const file = join(folder, "cgroup.controllers");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split(" ") : [];
}

function groupUnusable(folder: string, reason: string, cause?: unknown): Error {
  return appError("pods_unavailable", {
    detail: `Groups of pods cannot be made: the control group ${folder} of this process ${reason}.`,
    hint: "Run the service as root, in its own unit with User= and Delegate=yes, or by systemd-run --user --scope -p Delegate=yes",
    cause,
  });
}

function findRelatives(pids: readonly number[]): Set<number> {
  const table = readProcesses();
  const parents = new Map(table.map(({ parent, pid }) => [pid, parent]));
  const found = new Set([process.pid]);
  for (let pid = parents.get(process.pid) ?? 0; pid > 1; pid = parents.get(pid) ?? 0) {
    if (pids.includes(pid)) found.add(pid);
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { parent, pid } of table) if (found.has(parent)) found.add(pid);
  }
  return found;
}
