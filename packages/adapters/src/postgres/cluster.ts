import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { appError } from "@appdb/contract/errors";
import { asServerUser } from "./server-user.ts";

const OLDEST_MAJOR = 18;
const VERSION_TIMEOUT_MS = 10_000;
const INITDB_TIMEOUT_MS = 120_000;
/** Prefix of folders in which initdb works. */
const UNFINISHED = "unfinished-";
const run = promisify(execFile);

/**
 * Finds the cluster of the PostgreSQL in `bin` below `folder`, or makes it; its own folder is named by the major version. A
 * new one appears whole: initdb works in a folder beside it, which a rename puts in place, so a kill in between leaves
 * nothing that looks like a cluster.
 * @throws postgres_failed with what initdb said; postgres_unsupported for a PostgreSQL below 18
 */
export async function ensureCluster(bin: string, folder: string): Promise<{ data_folder: string; is_new: boolean }> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // the version is asked for only where it decides something: a process more is felt at the first command
  if (readdirSync(folder).some((name) => existsSync(join(folder, name, "PG_VERSION")))) {
    const data_folder = join(folder, String(await readMajorVersion(bin)));
    if (existsSync(join(data_folder, "PG_VERSION"))) return { data_folder, is_new: false };
  }
  const unfinished = join(folder, `${UNFINISHED}${randomBytes(4).toString("hex")}`);
  try {
    await initCluster(bin, unfinished);
    const major = Number.parseInt(readFileSync(join(unfinished, "PG_VERSION"), "utf8"), 10);
    refuseOldVersion(bin, major, `PostgreSQL ${major}`);
    const data_folder = join(folder, String(major));
    renameSync(unfinished, data_folder);
    return { data_folder, is_new: true };
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function initCluster(bin: string, data_folder: string): Promise<void> {
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

/** Removes what a killed owner left half made. Its initdb may still run for a moment and write there, hence the patience. */
export async function removeUnfinished(folder: string): Promise<void> {
  const left = (await readdir(folder)).filter((name) => name.startsWith(UNFINISHED));
  const patience = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
  await Promise.all(left.map((name) => rm(join(folder, name), patience)));
}

/** Brings the files of a new cluster to the disk; what the server writes later it syncs itself. */
export async function syncCluster(bin: string, data_folder: string): Promise<void> {
  const command = asServerUser(join(bin, "initdb"), ["--sync-only", `--pgdata=${data_folder}`]);
  await run(command.program, command.args, { timeout: INITDB_TIMEOUT_MS });
}

function refuseOldVersion(bin: string, major: number, name: string): void {
  if (major >= OLDEST_MAJOR) return;
  throw appError("postgres_unsupported", {
    detail: `The PostgreSQL in ${bin} is ${name}; PostgreSQL ${OLDEST_MAJOR} or newer is needed.`,
    hint: "Unset SERVICE_PG_BIN to use the one that comes with the installation.",
    meta: { bin, version: name },
  });
}

/** Asks the PostgreSQL in `bin` for its major version. @throws postgres_failed, postgres_unsupported below 18 */
async function readMajorVersion(bin: string): Promise<number> {
  const program = join(bin, "postgres");
  const answer = await run(program, ["--version"], { timeout: VERSION_TIMEOUT_MS }).catch((cause: unknown) => {
    throw appError("postgres_failed", { detail: `${program} cannot be run.`, cause });
  });
  const major = Number(/(\d+)(?:\.\d+|devel|beta\d*|rc\d*)/.exec(answer.stdout)?.[1] ?? Number.NaN);
  refuseOldVersion(bin, major, answer.stdout.trim());
  return major;
}

function lastWords(cause: unknown): string {
  const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : "";
  const lines = stderr.split("\n").filter((line) => line.startsWith("initdb: ") || line.includes("FATAL"));
  return lines.at(0)?.replace(/^initdb: (error: )?/, "") ?? (cause instanceof Error ? cause.message : String(cause));
}
