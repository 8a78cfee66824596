import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * A process that can be recognised later: a pid alone cannot, because the system gives it out again.
 * `started` is opaque text that no other process of that pid has.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** Tells which process has this pid now; undefined when there is none, or only a zombie that nobody has reaped. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return process.platform === "linux" ? identifyOnLinux(pid) : identifyByPs(pid);
}

/** True while exactly this process runs: the pid is there, is no zombie, and was started when we said. */
export function isAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.started === identity.started;
}

/** The command line of a process as one text, undefined when there is no such process or it may not be read. */
export function commandLine(pid: number): string | undefined {
  if (process.platform !== "linux") return ps(pid, "command=");
  return readProc(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ");
}

function identifyOnLinux(pid: number): ProcessIdentity | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // the command's name stands in parentheses and may hold spaces and parentheses itself
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  const ticks = fields[19];
  if (ticks === undefined || state === "Z" || state === "X") return undefined;
  const boot = readProc("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  return { pid, started: `${boot}:${ticks}` };
}

function identifyByPs(pid: number): ProcessIdentity | undefined {
  const line = ps(pid, "stat=,lstart=");
  if (line === undefined || line.startsWith("Z")) return undefined;
  return { pid, started: line.replace(/^\S+\s+/, "") };
}

function ps(pid: number, columns: string): string | undefined {
  try {
    const out = execFileSync("ps", ["-o", columns, "-p", String(pid)], { encoding: "utf8", timeout: 5000 }).trim();
    return out === "" ? undefined : out;
  } catch {
    // ps exits with 1 when there is no such process
    return undefined;
  }
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // gone between two looks, which is an answer
    return undefined;
  }
}
