import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@appdb/engine/ports";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { endProcess, sendSignal } from "@appdb/system/processes/end-process";
import { commandLine, identifyProcess, type ProcessIdentity } from "@appdb/system/processes/process-identity";

/** Fast shutdown, then immediate shutdown, then kill. */
const END_ORPHAN = [
  { signal: "SIGINT", wait_ms: 15_000 },
  { signal: "SIGQUIT", wait_ms: 5_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;

/** Next to it is its lock file. */
const SOCKET = ".s.PGSQL.5432";

/** The file is missing, or Windows is removing it. */
const UNREADABLE = ["ENOENT", "EPERM", "EBUSY"];

/** Asks an earlier server to end. False when it has ended. */
export type SendToServer = (server: ProcessIdentity, signal: NodeJS.Signals) => boolean;

/**
 * Prepares a start: stops a server that an earlier owner of the home left running, then removes both lock files. The
 * caller must hold the home's lock, so that no other server is expected to run.
 */
export async function clearStaleLocks(
  dataFolder: string,
  socketFolder: string | undefined,
  log: Logger,
  send: SendToServer = sendSignal,
): Promise<void> {
  const files = lockFiles(dataFolder, socketFolder);
  const orphan = findLeftServer(dataFolder, socketFolder);
  if (orphan !== undefined) {
    log.warn({ postgres_pid: orphan.pid }, "stopping a PostgreSQL that the previous start left");
    const hasEnded = await endProcess(orphan, END_ORPHAN, send);
    if (!hasEnded) log.error({ postgres_pid: orphan.pid }, "the PostgreSQL that the previous start left does not end");
  }
  for (const file of files) rmSync(file, { force: true });
}

/** The server that runs on this folder, by its lock files. */
export function findLeftServer(dataFolder: string, socketFolder: string | undefined): ProcessIdentity | undefined {
  return lockFiles(dataFolder, socketFolder)
    .filter((file) => !file.endsWith(SOCKET))
    .map((file) => findServer(readLockPid(file), dataFolder))
    .find((found) => found !== undefined);
}

function lockFiles(dataFolder: string, socketFolder: string | undefined): string[] {
  const sockets = socketFolder === undefined ? [] : [`${SOCKET}.lock`, SOCKET].map((name) => join(socketFolder, name));
  return [join(dataFolder, "postmaster.pid"), ...sockets];
}

/** First lines of `postmaster.pid`. Undefined when the file is missing or incomplete. */
export function readLock(dataFolder: string): { pid: number; status: string } | undefined {
  const lines = readIfExists(() => readFileSync(join(dataFolder, "postmaster.pid"), "utf8"), UNREADABLE)?.split("\n");
  const status = lines?.[7]?.trim();
  return lines === undefined || status === undefined ? undefined : { pid: Number(lines[0]), status };
}

function readLockPid(path: string): number | undefined {
  const pid = Number.parseInt(readIfExists(() => readFileSync(path, "utf8")) ?? "", 10);
  // a standalone backend writes a negative pid
  return Number.isNaN(pid) ? undefined : Math.abs(pid);
}

/** The process with that pid if it serves this folder. The pid may have been reused. */
function findServer(pid: number | undefined, dataFolder: string): ProcessIdentity | undefined {
  if (pid === undefined) return undefined;
  const identity = identifyProcess(pid);
  return identity !== undefined && namesFolder(commandLine(pid) ?? "", dataFolder) ? identity : undefined;
}

/**
 * Whether a server's command line names the folder. PostgreSQL on Windows writes forward slashes, and case does not
 * matter there.
 */
export function namesFolder(command: string, folder: string, platform: NodeJS.Platform = process.platform): boolean {
  const plain = (text: string) => (platform === "win32" ? text.replaceAll("\\", "/").toLowerCase() : text);
  return plain(command).includes(plain(folder));
}
