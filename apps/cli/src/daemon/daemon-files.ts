import { closeSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { type DaemonFile, HOME_PATHS } from "@appdb/contract/home";
import { homeError } from "@appdb/contract/home-error";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { makePrivateFolder } from "@appdb/system/files/private-folder";

/** A daemon writes larger files when it starts. */
const PROBE_BYTES = 65_536;

export interface DaemonAddress {
  readonly file: DaemonFile;
  readonly token: string;
}

/**
 * Reads the daemon's address from a home; undefined when there is none. A killed daemon leaves its file, so the address
 * may be outdated.
 * @throws home_not_writable when the files exist and are unreadable
 */
export function readDaemonAddress(home: string): DaemonAddress | undefined {
  try {
    const file = JSON.parse(readFileSync(join(home, HOME_PATHS.daemon), "utf8")) as Partial<DaemonFile>;
    const token = readFileSync(join(home, HOME_PATHS.token), "utf8").trim();
    if (!Number.isInteger(file.port) || !Number.isInteger(file.pid)) return undefined;
    return { file: file as DaemonFile, token };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // A file cut off by a machine crash counts as missing.
    if (code === "ENOENT" || code === "ENOTDIR" || error instanceof SyntaxError) return undefined;
    throw appError("home_not_writable", {
      detail: `The home folder ${home} cannot be read: ${code ?? error}.`,
      hint: "Use the home as the user who created it, or set SERVICE_HOME to a folder that you own.",
      meta: { home },
      cause: error,
    });
  }
}

/** Opens the daemon's log for its output before its own logger starts. @throws home_not_writable, disk_full */
export function openDaemonLog(home: string): number {
  const path = join(home, HOME_PATHS.daemonLog);
  try {
    makePrivateFolder(dirname(path));
    return openSync(path, "a", 0o600);
  } catch (cause) {
    throw homeError(home, cause);
  }
}

/** Checks that the home takes the files of a daemon that starts. @throws disk_full */
export function requireSpace(home: string): void {
  const probe = join(home, `probe.${process.pid}.tmp`);
  try {
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { mode: 0o600 });
  } catch (error) {
    // other errors have their own messages when the daemon starts
    if (isDiskFull(error)) throw homeError(home, error);
  } finally {
    rmSync(probe, { force: true });
  }
}

/** Size of the daemon's log, from which `readLogFrom` continues. */
export function sizeOfLog(home: string): number {
  return statSync(join(home, HOME_PATHS.daemonLog)).size;
}

/** The last lines written to the daemon's log after `from`. */
export function readLogFrom(home: string, from: number, lines: number): string[] {
  const path = join(home, HOME_PATHS.daemonLog);
  const size = statSync(path).size;
  // A rotated file is smaller; all of it is new.
  const start = size < from ? 0 : Math.max(from, size - 64_000);
  const bytes = Buffer.alloc(size - start);
  const descriptor = openSync(path, "r");
  try {
    const length = readSync(descriptor, bytes, 0, bytes.length, start);
    return bytes
      .toString("utf8", 0, length)
      .split("\n")
      .filter((line) => line.trim() !== "")
      .slice(-lines);
  } finally {
    closeSync(descriptor);
  }
}
