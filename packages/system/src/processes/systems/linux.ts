import { readdirSync, readFileSync } from "node:fs";
import type { ProcessEntry, ProcessSystem } from "./process-system.ts";

/** Reads Linux's files in /proc. Tests pass another folder. */
export function createLinuxProcesses(proc = "/proc"): ProcessSystem {
  return {
    started(pid) {
      const stat = readProc(`${proc}/${pid}/stat`);
      const ticks = stat === undefined ? undefined : readStat(stat)?.ticks;
      if (ticks === undefined) return undefined;
      const boot = readProc(`${proc}/sys/kernel/random/boot_id`)?.trim() ?? "";
      return `${boot}:${ticks}`;
    },
    commandLine: (pid) => readProc(`${proc}/${pid}/cmdline`)?.replaceAll("\0", " "),
    list() {
      const entries: ProcessEntry[] = [];
      for (const name of readdirSync(proc)) {
        if (!/^\d+$/.test(name)) continue;
        const stat = readProc(`${proc}/${name}/stat`);
        const found = stat === undefined ? undefined : readStat(stat);
        if (found === undefined) continue;
        const { parent, group, session } = found;
        entries.push({ pid: Number(name), parent: Number(parent), group: Number(group), session: Number(session) });
      }
      return entries;
    },
  };
}

/** Undefined for a zombie. */
function readStat(stat: string): Record<"parent" | "group" | "session" | "ticks", string | undefined> | undefined {
  // the command name in parentheses may itself contain spaces and parentheses
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  return state === "Z" || state === "X" ? undefined : { parent, group, session, ticks: fields[19] };
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // ended between the reads, or another user's: both mean unknown
    return undefined;
  }
}
