import { readdirSync, readFileSync } from "node:fs";
import { identifyProcess, type ProcessIdentity } from "@appdb/system/processes/process-identity";

/** A process with all its descendants, on Linux. For tests only. */
export function processesBelow(pid: number): ProcessIdentity[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? parentOf(Number(name)) : undefined;
    if (parent !== undefined) parents.set(Number(name), parent);
  }
  const family = new Set([pid]);
  for (let before = 0; before !== family.size; ) {
    before = family.size;
    for (const [child, parent] of parents) if (family.has(parent)) family.add(child);
  }
  return [...family].flatMap((one) => identifyProcess(one) ?? []);
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    // it has ended
    return undefined;
  }
}
