import { readFileSync } from "node:fs";
import { readProcesses } from "@appdb/system/processes/process-table";

/** Pids of all descendants of these processes, without themselves. */
export function descendants(roots: readonly number[]): number[] {
  const table = readProcesses();
  const members = new Set(roots);
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parent } of table) if (members.has(parent)) members.add(pid);
  }
  return [...members].filter((pid) => !roots.includes(pid));
}

/** Command line of a process; empty when it has ended. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    // it has ended
    return "";
  }
}
