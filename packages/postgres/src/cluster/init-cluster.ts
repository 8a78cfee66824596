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

/** How every database of ours is made: text in it orders and maps case as Python does. */
export const DATABASE_OPTIONS =
  "template template0 encoding 'UTF8' locale_provider builtin builtin_locale 'PG_UNICODE_FAST' locale 'C'";

/**
 * Makes a cluster in a folder that is not there yet, whose superuser has that password; its files are not on the disk before
 * syncCluster.
 * @throws postgres_failed
 */
export async function initCluster(bin: string, dataFolder: string, superuserPassword: string): Promise<void> {
  // initdb takes a password from a file alone; next to the cluster, so that a killed server's is removed with what it left unfinished
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
    // the files are synced by syncCluster, while the server runs already
    "--no-sync",
  ]);
  try {
    writeFileSync(passwordFile, `${superuserPassword}\n`, { mode: 0o600, flag: "wx" });
    await runStatement(command.program, command.args, { timeout: INITDB_TIMEOUT_MS, windowsHide: true });
  } catch (cause) {
    const words = lastWords(cause);
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
  /** Writes out the whole file system where there is a call for that: quicker than one file after the other while somebody waits. */
  readonly with_all?: boolean;
}

/** Brings the files of a new cluster to the disk; what the server writes later it syncs itself. */
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
 * Leaves the cluster one database alone, beside the frozen one that others can be made of: the rest would be half of each
 * copy. It is arranged by these statements, one a line. No server may run on it.
 * @throws postgres_failed
 */
export async function makeSoleDatabase(
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
  /** What it writes is brought to the disk. */
  readonly is_synced: boolean;
}

/**
 * Runs statements, one a line, in PostgreSQL's single-user mode: a process that ends with its input, and asks for no password. No
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
  // a server that ends early closes its input; its words and its status tell why
  child.stdin.on("error", () => undefined);
  child.stdin.end(statements.map((statement) => `${statement}\n`).join(""));
  const [said] = await Promise.all([text(child.stderr), once(child, "close")]);
  if (child.exitCode === 0) return;
  throw appError("postgres_failed", {
    detail: `The PostgreSQL cluster could not be prepared: ${said.trim().split("\n").at(-1) ?? "it ended"}`,
    hint: "See whether the disk is full.",
  });
}

/** PostgreSQL asks for the name of the user that runs it. */
export function adviseOnInitdb(words: string): string {
  return /could not look up (effective )?user ID/.test(words)
    ? `The user with the number ${process.getuid?.()} has no name on this machine: give it an entry in /etc/passwd.`
    : "See whether the disk is full and the home can be written.";
}

function lastWords(cause: unknown): string {
  const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : "";
  const lines = stderr.split("\n").filter((line) => line.startsWith("initdb: ") || line.includes("FATAL"));
  return lines.at(0)?.replace(/^initdb: (error: )?/, "") ?? (cause instanceof Error ? cause.message : String(cause));
}
