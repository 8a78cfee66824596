import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@appdb/engine/ports";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { endProcess, sendSignal } from "@appdb/system/processes/end-process";
import { commandLine, identifyProcess, type ProcessIdentity } from "@appdb/system/processes/process-identity";

/** Fast shutdown, then immediate, then none of its choosing. */
const END_ORPHAN = [
  { signal: "SIGINT", wait_ms: 15_000 },
  { signal: "SIGQUIT", wait_ms: 5_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;

/** The lock of a socket, and the socket. */
const SOCKET_FILES = [".s.PGSQL.5432.lock", ".s.PGSQL.5432"];

/** It is not there, or Windows is just removing it. */
const UNREADABLE = ["ENOENT", "EPERM", "EBUSY"];

/** Tells an earlier server to end; false when it has ended. */
export type SendToServer = (server: ProcessIdentity, signal: NodeJS.Signals) => boolean;

/**
 * Clears the way for a start: a server that an earlier owner of the home left running is stopped, then both lock files
 * go. To be called only by who holds the home's lock: no other server can be meant to run then.
 */
export async function clearStaleLocks(
  dataFolder: string,
  socketFolder: string | undefined,
  log: Logger,
  send: SendToServer = sendSignal,
): Promise<void> {
  const lock = join(dataFolder, "postmaster.pid");
  const sockets = socketFolder === undefined ? [] : SOCKET_FILES.map((name) => join(socketFolder, name));
  const orphan = [lock, ...sockets.slice(0, 1)]
    .map((file) => findServer(readLockPid(file), dataFolder))
    .find((found) => found !== undefined);
  if (orphan !== undefined) {
    log.warn({ pid: orphan.pid }, "stopping a PostgreSQL that an earlier daemon left");
    const gone = await endProcess(orphan, END_ORPHAN, send);
    if (!gone) log.error({ pid: orphan.pid }, "an earlier PostgreSQL does not end");
  }
  for (const file of [lock, ...sockets]) rmSync(file, { force: true });
}

/** The first lines of `postmaster.pid`; undefined when there is no such file or it is not finished. */
export function readLock(dataFolder: string): { pid: number; status: string } | undefined {
  const lines = readIfExists(() => readFileSync(join(dataFolder, "postmaster.pid"), "utf8"), UNREADABLE)?.split("\n");
  const status = lines?.[7]?.trim();
  return lines === undefined || status === undefined ? undefined : { pid: Number(lines[0]), status };
}

function readLockPid(path: string): number | undefined {
  const pid = Number.parseInt(readIfExists(() => readFileSync(path, "utf8")) ?? "", 10);
  // the file of a standalone backend holds a negative pid
  return Number.isNaN(pid) ? undefined : Math.abs(pid);
}

/** The process of that pid if it serves this very folder: the system may have given the number to somebody else. */
function findServer(pid: number | undefined, dataFolder: string): ProcessIdentity | undefined {
  if (pid === undefined) return undefined;
  const identity = identifyProcess(pid);
  return identity !== undefined && namesFolder(commandLine(pid) ?? "", dataFolder) ? identity : undefined;
}

/** Whether a server's command line names the folder. PostgreSQL of Windows writes paths with slashes, whose case does not count there. */
export function namesFolder(command: string, folder: string, platform: NodeJS.Platform = process.platform): boolean {
  const plain = (text: string) => (platform === "win32" ? text.replaceAll("\\", "/").toLowerCase() : text);
  return plain(command).includes(plain(folder));
}
