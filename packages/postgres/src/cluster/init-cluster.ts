import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { appError } from "@appdb/contract/errors";
import { SUPERUSER } from "./cluster-access.ts";
import { asServerUser } from "./server-user.ts";

const INITDB_TIMEOUT_MS = 120_000;
const runStatement = promisify(execFile);

/** Options of every database: its text orders and maps case as Python does. */
export const DATABASE_OPTIONS =
  "template template0 encoding 'UTF8' locale_provider builtin builtin_locale 'PG_UNICODE_FAST' locale 'C'";

/**
 * Makes a cluster in a new folder with that superuser password. Its files are on disk only after syncCluster.
 * @throws postgres_failed
 */
export async function initCluster(bin: string, dataFolder: string, superuserPassword: string): Promise<void> {
  // initdb reads a password only from a file; next to the cluster, so that the cleanup of a killed server removes it
  const passwordFile = `${dataFolder}-password`;
  const command = asServerUser(join(bin, "initdb"), [
    `--pgdata=${dataFolder}`,
    `--username=${SUPERUSER}`,
    "--auth=scram-sha-256",
    `--pwfile=${passwordFile}`,
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=PG_UNICODE_FAST",
    "--locale=C",
    "--wal-segsize=4",
    "--no-instructions",
    // syncCluster syncs the files while the server is already running
    "--no-sync",
  ]);
  try {
    writeFileSync(passwordFile, `${superuserPassword}\n`, { mode: 0o600, flag: "wx" });
    await runStatement(command.program, command.args, { timeout: INITDB_TIMEOUT_MS, windowsHide: true });
  } catch (cause) {
    const words = stderrTail(cause);
    throw appError("postgres_failed", {
      detail: `A new PostgreSQL cluster could not be made: ${words}`,
      hint: adviseOnInitdb(words),
      cause,
    });
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

export interface SyncOptions {
  readonly timeout_ms: number;
  /**
   * Whether to sync the whole file system, where possible. This is faster than syncing each file while a user waits.
   */
  readonly with_all?: boolean;
}

/** Syncs the files of a new cluster to disk. The server syncs its own later writes. */
export async function syncCluster(
  bin: string,
  dataFolder: string,
  { timeout_ms: timeoutMs, with_all: withAll }: SyncOptions = { timeout_ms: INITDB_TIMEOUT_MS },
): Promise<void> {
  const method = withAll === true && process.platform === "linux" ? ["--sync-method=syncfs"] : [];
  const command = asServerUser(join(bin, "initdb"), ["--sync-only", ...method, `--pgdata=${dataFolder}`]);
  await runStatement(command.program, command.args, { timeout: timeoutMs, windowsHide: true });
}

/**
 * Reduces a cluster to one database and the frozen template database, which halves the size of copies. Then runs
 * `statements` in it, one per line. No server may run on the cluster.
 * @throws postgres_failed
 */
export async function createOnlyDatabase(
  bin: string,
  dataFolder: string,
  database: string,
  statements: readonly string[],
): Promise<void> {
  const cluster = { bin, data_folder: dataFolder, is_synced: false };
  await runAlone(cluster, "postgres", [`create database "${database}" ${DATABASE_OPTIONS}`]);
  await runAlone(cluster, database, [
    ...statements,
    "update pg_database set datistemplate = false where datname = 'template1'",
    "drop database postgres",
    "drop database template1",
  ]);
}

export interface AloneInput {
  readonly bin: string;
  readonly data_folder: string;
  /** Whether its writes are synced to disk. */
  readonly is_synced: boolean;
}

/**
 * Runs statements, one per line, in PostgreSQL's single-user mode, which ends with its input and needs no password. No
 * server may run on the cluster.
 * @throws postgres_failed
 */
export async function runAlone(
  { bin, data_folder: dataFolder, is_synced: isSynced }: AloneInput,
  database: string,
  statements: readonly string[],
): Promise<void> {
  const syncing = isSynced ? [] : ["-c", "fsync=off"];
  const options = ["--single", "-D", dataFolder, "-c", "exit_on_error=on", ...syncing, database];
  const command = asServerUser(join(bin, "postgres"), options);
  const child = spawn(command.program, command.args, {
    stdio: ["pipe", "ignore", "pipe"],
    timeout: INITDB_TIMEOUT_MS,
    windowsHide: true,
  });
  // a server that ends early closes its input; its output and status explain why
  child.stdin.on("error", () => undefined);
  child.stdin.end(statements.map((statement) => `${statement}\n`).join(""));
  const [stderr] = await Promise.all([text(child.stderr), once(child, "close")]);
  if (child.exitCode === 0) return;
  throw appError("postgres_failed", {
    detail: `The PostgreSQL cluster could not be prepared: ${stderr.trim().split("\n").at(-1) ?? "it ended"}`,
    hint: "Check whether the disk is full.",
  });
}

/** PostgreSQL requires a name for the user that runs it. */
export function adviseOnInitdb(words: string): string {
  return /could not look up (effective )?user ID/.test(words)
    ? `The user with the id ${process.getuid?.()} has no name on this machine: add an entry to /etc/passwd.`
    : "Check whether the disk is full and the home is writable.";
}

function stderrTail(cause: unknown): string {
  const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : "";
  const lines = stderr.split("\n").filter((line) => line.startsWith("initdb: ") || line.includes("FATAL"));
  return lines.at(0)?.replace(/^initdb: (error: )?/, "") ?? (cause instanceof Error ? cause.message : String(cause));
}
