import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { appError } from "@appdb/contract/errors";
import { asServerUser } from "./server-user.ts";

const INITDB_TIMEOUT_MS = 120_000;
const run = promisify(execFile);

/** How every database of ours is made: text in it orders and maps case as Python does. */
export const DATABASE_OPTIONS =
  "template template0 encoding 'UTF8' locale_provider builtin builtin_locale 'PG_UNICODE_FAST' locale 'C'";

/** Makes a cluster in a folder that is not there yet; its files are not on the disk before syncCluster. @throws postgres_failed */
export async function initCluster(bin: string, data_folder: string): Promise<void> {
  const command = asServerUser(join(bin, "initdb"), [
    `--pgdata=${data_folder}`,
    "--username=postgres",
    // connections come through a socket in a private folder; there is no other door
    "--auth=trust",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=PG_UNICODE_FAST",
    "--locale=C",
    "--wal-segsize=4",
    "--no-instructions",
    // the files are synced by syncCluster, while the server runs already
    "--no-sync",
  ]);
  await run(command.program, command.args, { timeout: INITDB_TIMEOUT_MS }).catch((cause: unknown) => {
    throw appError("postgres_failed", {
      detail: `A new PostgreSQL cluster could not be made: ${lastWords(cause)}`,
      hint: "See whether the disk is full and the home can be written.",
      cause,
    });
  });
}

export interface SyncOptions {
  readonly timeout_ms: number;
  /** Writes out the whole file system where there is a call for that: quicker than one file after the other while somebody waits. */
  readonly with_all?: boolean;
}

/** Brings the files of a new cluster to the disk; what the server writes later it syncs itself. */
export async function syncCluster(
  bin: string,
  data_folder: string,
  { timeout_ms, with_all }: SyncOptions = { timeout_ms: INITDB_TIMEOUT_MS },
): Promise<void> {
  const method = with_all === true && process.platform === "linux" ? ["--sync-method=syncfs"] : [];
  const command = asServerUser(join(bin, "initdb"), ["--sync-only", ...method, `--pgdata=${data_folder}`]);
  await run(command.program, command.args, { timeout: timeout_ms });
}

/**
 * Leaves the cluster one database alone, beside the frozen one that others can be made of: the rest would be half of each
 * copy. No server may run on it.
 * @throws postgres_failed
 */
export async function makeSoleDatabase(bin: string, data_folder: string, database: string): Promise<void> {
  await runAlone(bin, data_folder, "postgres", [`create database "${database}" ${DATABASE_OPTIONS}`]);
  await runAlone(bin, data_folder, database, [
    "update pg_database set datistemplate = false where datname = 'template1'",
    "drop database postgres",
    "drop database template1",
  ]);
}

/** Runs statements, one a line, in PostgreSQL's single-user mode: a process that ends with its input. */
async function runAlone(
  bin: string,
  data_folder: string,
  database: string,
  statements: readonly string[],
): Promise<void> {
  const options = ["--single", "-D", data_folder, "-c", "exit_on_error=on", "-c", "fsync=off", database];
  const command = asServerUser(join(bin, "postgres"), options);
  const child = spawn(command.program, command.args, { stdio: ["pipe", "ignore", "pipe"], timeout: INITDB_TIMEOUT_MS });
  // a server that ends early closes its input; its words and its status tell why
  child.stdin.on("error", () => undefined);
  child.stdin.end(statements.map((statement) => `${statement}\n`).join(""));
  const [said] = await Promise.all([text(child.stderr), once(child, "close")]);
  if (child.exitCode === 0) return;
  throw appError("postgres_failed", {
    detail: `A new PostgreSQL cluster could not be prepared: ${said.trim().split("\n").at(-1) ?? "it ended"}`,
    hint: "See whether the disk is full.",
  });
}

function lastWords(cause: unknown): string {
  const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : "";
  const lines = stderr.split("\n").filter((line) => line.startsWith("initdb: ") || line.includes("FATAL"));
  return lines.at(0)?.replace(/^initdb: (error: )?/, "") ?? (cause instanceof Error ? cause.message : String(cause));
}
