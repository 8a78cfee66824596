import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ifThere } from "../files/if-there.ts";
import { ControlGroups, findGroupTrees, hasAllTrees, removeFolder } from "./control-groups.ts";
import { demandEngine, type Engine } from "./engine-client.ts";
import type { PodLimits } from "./pod-driver.ts";
import { boundAllPods } from "./sandbox-bounds.ts";

/** Below every controller's root, where the engine makes its own groups too. */
const PARENT = "/appdb-pods";
/** Of the engine, below a group that it was given. */
const MONITORS = "conmon";
const REMOVE_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/** The groups in which all pods of a database are bounded together. */
export interface ContainerGroups {
  /** Makes the group, bounds it anew, and names it as the engine is told. */
  open(group: string, limits: PodLimits): string;
  /** Removes the group, and what the engine left in it, unless another pod is there. */
  remove(group: string): Promise<void>;
}

/** Undefined where the engine keeps groups in another way than we do: each pod is bounded by itself then. @throws pod_failed */
export async function findContainerGroups({ docker }: Engine): Promise<ContainerGroups | undefined> {
  const about: unknown = await demandEngine("say what it is", docker.info());
  const driver = typeof about === "object" && about !== null && "CgroupDriver" in about ? about.CgroupDriver : "";
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  const trees = findGroupTrees(mounts, readFileSync("/proc/self/cgroup", "utf8"));
  if (driver !== "cgroupfs" || !hasAllTrees(trees)) return undefined;
  const groups = new ControlGroups(trees, PARENT);
  const roots = treeRoots(mounts);
  return {
    open(group, limits) {
      groups.make(group);
      boundAllPods(groups);
      groups.bound(group, limits);
      return join(PARENT, group);
    },
    async remove(group) {
      const folders = roots.map((root) => join(root, PARENT, group));
      for (const until = performance.now() + REMOVE_TIMEOUT_MS; performance.now() < until; await sleep(POLL_MS)) {
        // the engine takes more controllers than bound a pod, and leaves its monitor's group in each
        if (folders.filter((folder) => !removeEmpty(folder)).length === 0) return;
        // a monitor ends a moment after its container; who is there beside it is another pod of the database
        if (groups.processes(group).length > groups.processes(join(group, MONITORS)).length) return;
      }
    },
  };
}

/** Where groups are, of whatever controller. */
function treeRoots(mounts: string): string[] {
  return mounts.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const point = before.split(" ")[4];
    return point !== undefined && /^cgroup2? /.test(after) ? [point] : [];
  });
}

/** Removes a group with those below it; false when something is in one of them. */
function removeEmpty(folder: string): boolean {
  const entries = ifThere(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  const below = entries.filter((entry) => entry.isDirectory());
  return below.every(({ name }) => removeEmpty(join(folder, name))) && removeFolder(folder);
}
