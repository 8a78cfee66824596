import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { moveFile } from "@appdb/system/files/move-file";
import { readIfExists } from "@appdb/system/files/read-if-exists";
import { writeRules } from "./cluster-access.ts";
import { ControlledServer } from "./controlled-server.ts";
import type { LocalAddress } from "./local-address.ts";
import { boundWal } from "./postgres-settings.ts";
import { childHandle, type ServerHandle } from "./server-handle.ts";
import { asServerUser, boundToParent } from "./server-user.ts";
import { readLock } from "./stale-locks.ts";
import { startFailure } from "./start-failure.ts";

const POLL_MS = 5;
const START_TIMEOUT_MS = 120_000;
const LOG_BYTES = 5_000_000;

export interface ServerPaths {
  readonly bin: string;
  readonly data_folder: string;
  readonly address: LocalAddress;
  readonly log_file: string;
  /** Overrides and additions to the settings of a local server. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** Bytes of the disk that writers leave free. */
  readonly kept_free_bytes?: number | undefined;
  /** Whether it shuts down when this process ends, even by a kill. */
  readonly dies_with_parent?: boolean | undefined;
  /** Starts and signals the server: directly, or by pg_ctl where the system requires it. */
  readonly way: ServerWay;
}

export type ServerWay = "child" | "pg_ctl";

/** How servers are started on this system. */
export const SERVER_WAY: ServerWay = process.platform === "win32" ? "pg_ctl" : "child";

/**
 * Settings of a local server. Durability settings keep PostgreSQL's defaults: fsync, full_page_writes and
 * synchronous_commit stay on.
 */
const SETTINGS = {
  max_connections: "200",
  shared_buffers: "128MB",
  wal_buffers: "4MB",
  min_wal_size: "64MB",
  max_wal_size: "1024MB",
  checkpoint_timeout: "15min",
  synchronous_commit: "on",
  jit: "off",
  // large tables are always read from the beginning, because sums of Floats depend on the order
  synchronize_seqscans: "off",
  // neither is needed locally, and each would be a process
  io_method: "sync",
  max_logical_replication_workers: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  // a statement's ERROR belongs to its sender, and its text may contain row values
  log_min_messages: "log",
  log_checkpoints: "off",
} as const;

/**
 * Starts a server and resolves when it accepts connections. `onSpawn` gets its handle earlier.
 * @throws postgres_failed with its last output when it ends or does not answer within two minutes; disk_full
 */
export async function startPostgres(paths: ServerPaths, onSpawn: (server: ServerHandle) => void): Promise<void> {
  const { address, data_folder: dataFolder } = paths;
  const rules = { hba_file: writeRules(dataFolder, address.rule) };
  const { blocks, bsize } = statfsSync(dataFolder);
  const own = boundWal({ ...SETTINGS, ...paths.settings }, blocks * bsize, paths.kept_free_bytes);
  const settings = { ...own, ...address.settings(), ...rules };
  if (paths.way === "child") await startChild(paths, settings, onSpawn);
  else await startControlled(paths, settings, onSpawn);
}

async function startControlled(
  paths: ServerPaths,
  settings: Readonly<Record<string, string>>,
  onSpawn: (server: ServerHandle) => void,
): Promise<void> {
  const logStart = rotateLog(paths.log_file);
  const server = new ControlledServer(paths);
  onSpawn(server);
  const failure = await server.start({ ...paths, settings });
  if (failure !== undefined) throw failedStart(paths, failure.replace(/\.$/, ""), logStart);
}

/** Starts a direct child in its own session, so that Ctrl-C reaches only this process, which then stops it cleanly. */
async function startChild(
  paths: ServerPaths,
  settings: Readonly<Record<string, string>>,
  onSpawn: (server: ServerHandle) => void,
): Promise<void> {
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = { program: join(paths.bin, "postgres"), args: ["-D", paths.data_folder] };
  const bound = paths.dies_with_parent === true ? boundToParent(server, "INT") : server;
  const command = asServerUser(bound.program, [...bound.args, ...options]);
  const logStart = rotateLog(paths.log_file);
  const log = openSync(paths.log_file, "a", 0o600);
  const child = spawn(command.program, command.args, { stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  let failure: string | undefined;
  child.once("error", (error) => {
    failure = `${command.program} cannot be run: ${error.message}`;
  });
  child.once("exit", (code, signal) => {
    failure = `it ended with ${signal ?? `code ${code}`}`;
  });
  onSpawn(childHandle(child));
  const until = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const lock = readLock(paths.data_folder);
    if (lock?.pid === child.pid && lock?.status === "ready") return;
    if (failure === undefined && performance.now() > until)
      failure = `it did not answer within ${START_TIMEOUT_MS / 1000} s`;
    if (failure !== undefined) throw failedStart(paths, failure, logStart);
    await sleep(POLL_MS);
  }
}

function failedStart(
  { data_folder: dataFolder, log_file: logFile }: ServerPaths,
  failure: string,
  logStart: number,
): Error {
  const output = (readIfExists(() => readFileSync(logFile)) ?? Buffer.alloc(0)).subarray(logStart).toString("utf8");
  const { bavail, bsize } = statfsSync(dataFolder);
  return startFailure({ failure, output, free_bytes: bavail * bsize });
}

/** Rotates a large log and returns the size of the file that the server will append to. */
function rotateLog(logFile: string): number {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size < LOG_BYTES) return size;
  moveFile(logFile, `${logFile}.1`);
  return 0;
}
