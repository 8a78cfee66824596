import { execFileSync } from "node:child_process";
import { appError } from "@appdb/contract/errors";
import type { ProcessSystem } from "./process-system.ts";

const TIMEOUT_MS = 5_000;
/** Exit status of `ps` when no process matches. */
const NONE = 1;
/**
 * `lstart` depends on language and time zone. Both are fixed, because a time read in another zone would look like
 * another process.
 */
const ENVIRONMENT = { LC_ALL: "C", TZ: "UTC0", PATH: "/usr/bin:/bin:/usr/sbin:/sbin" };

/** Runs `ps` with these arguments. Undefined when no process matches. */
export type RunPs = (args: readonly string[]) => string | undefined;

/** Reads processes with `ps` on macOS and other POSIX systems without /proc. */
export function createPsProcesses(ps: RunPs = runPs): ProcessSystem {
  // -ww: otherwise BSD's `ps` cuts lines at 79 characters without a terminal
  const ask = (pid: number, columns: string) => {
    const line = ps(["-ww", "-o", columns, "-p", String(pid)])?.trim();
    return line === "" ? undefined : line;
  };
  return {
    started(pid) {
      const line = ask(pid, "stat=,lstart=");
      if (line === undefined || line.startsWith("Z")) return undefined;
      return line.replace(/^\S+\s+/, "").replaceAll(/\s+/g, " ");
    },
    commandLine: (pid) => ask(pid, "command="),
    /** macOS has no session numbers, so the group is used instead */
    list() {
      const lines = ps(["-A", "-o", "pid=,ppid=,pgid=,stat="])?.split("\n") ?? [];
      return lines.flatMap((line) => {
        const [pid, parent, group, stat] = line.trim().split(/\s+/);
        if (stat === undefined || stat.startsWith("Z")) return [];
        return [{ pid: Number(pid), parent: Number(parent), group: Number(group), session: Number(group) }];
      });
    },
  };
}

function runPs(args: readonly string[]): string | undefined {
  try {
    return execFileSync("ps", args, {
      encoding: "utf8",
      env: ENVIRONMENT,
      timeout: TIMEOUT_MS,
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch (cause) {
    if ((cause as { status?: unknown }).status === NONE) return undefined;
    throw appError("daemon_failed", {
      detail: `The system does not say which processes run: ps failed (${cause instanceof Error ? cause.message : cause}).`,
      hint: "Check that ps runs: ps -o lstart= -p 1",
      cause,
    });
  }
}
