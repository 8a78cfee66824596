import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { appError } from "@appdb/contract/errors";
import { asServerUser } from "./server-user.ts";

const OLDEST_MAJOR = 18;
const VERSION_TIMEOUT_MS = 10_000;
const INITDB_TIMEOUT_MS = 120_000;
const run = promisify(execFile);

/** Asks the PostgreSQL in `bin` for its major version. @throws postgres_failed, postgres_unsupported below 18 */
export async function readMajorVersion(bin: string): Promise<number> {
  const program = join(bin, "postgres");
  const answer = await run(program, ["--version"], { timeout: VERSION_TIMEOUT_MS }).catch((cause: unknown) => {
    throw appError("postgres_failed", { detail: `${program} cannot be run.`, cause });
  });
  const major = Number(/(\d+)(?:\.\d+|devel|beta\d*|rc\d*)/.exec(answer.stdout)?.[1] ?? Number.NaN);
  if (!(major >= OLDEST_MAJOR)) {
    throw appError("postgres_unsupported", {
      detail: `${program} is ${answer.stdout.trim()}; PostgreSQL ${OLDEST_MAJOR} or newer is needed.`,
      hint: "Unset SERVICE_PG_BIN to use the one that comes with the installation.",
    });
  }
  return major;
}

/**
 * Makes a cluster in `data_folder` unless there is one. It appears whole: initdb works in a folder beside it, which a
 * rename puts in place, so a kill in between leaves nothing that looks like a cluster.
 * @throws postgres_failed with what initdb said
 */
export async function ensureCluster(bin: string, data_folder: string): Promise<"made" | "found"> {
  const parent = join(data_folder, "..");
  if (existsSync(join(data_folder, "PG_VERSION"))) return "found";
  mkdirSync(parent, { recursive: true, mode: 0o700 });
  removeUnfinished(parent);
  const unfinished = join(parent, `${UNFINISHED}${randomBytes(4).toString("hex")}`);
  const command = asServerUser(join(bin, "initdb"), [
    `--pgdata=${unfinished}`,
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
  try {
    await run(command.program, command.args, { timeout: INITDB_TIMEOUT_MS });
    renameSync(unfinished, data_folder);
  } catch (cause) {
    rmSync(unfinished, { recursive: true, force: true });
    throw appError("postgres_failed", {
      detail: `A new PostgreSQL cluster could not be made: ${lastWords(cause)}`,
      hint: "See whether the disk is full and the home can be written.",
      cause,
    });
  }
  return "made";
}

/** Brings the files of a new cluster to the disk; what the server writes later it syncs itself. */
export async function syncCluster(bin: string, data_folder: string): Promise<void> {
  const command = asServerUser(join(bin, "initdb"), ["--sync-only", `--pgdata=${data_folder}`]);
  await run(command.program, command.args, { timeout: INITDB_TIMEOUT_MS });
}

const UNFINISHED = "unfinished-";

function removeUnfinished(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(UNFINISHED)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function lastWords(cause: unknown): string {
  const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : "";
  const lines = stderr.split("\n").filter((line) => line.startsWith("initdb: ") || line.includes("FATAL"));
  return lines.at(0)?.replace(/^initdb: (error: )?/, "") ?? (cause instanceof Error ? cause.message : String(cause));
}
