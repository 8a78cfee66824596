import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { appError } from "@appdb/contract/errors";
import { moveFile } from "@appdb/system/files/move-file";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { type Passwords, writeAccess } from "./cluster-access.ts";
import { provisionCluster } from "./cluster-template.ts";
import { initCluster } from "./init-cluster.ts";

const OLDEST_MAJOR = 18;
const VERSION_TIMEOUT_MS = 10_000;
/** Prefix of folders in which clusters are made. */
const UNFINISHED = "unfinished-";
const runStatement = promisify(execFile);

export interface ClusterInput {
  readonly bin: string;
  /** Parent of the cluster's folder, which is named by its major version. */
  readonly folder: string;
  /** Template cluster to copy (cluster-template.ts). Without it, initdb makes the cluster. */
  readonly template_folder?: string | undefined;
  /** Passwords for initdb. A copy has its template's until its first start. */
  readonly passwords: Passwords;
}

/**
 * Finds the cluster below `folder`, or makes it. A new one appears atomically: it is made in a sibling folder and
 * renamed, so a kill leaves nothing that looks like a cluster. The server itself refuses a cluster of another major
 * version.
 * @throws postgres_failed with initdb's output; postgres_unsupported for a PostgreSQL below 18
 */
export async function ensureCluster(input: ClusterInput): Promise<{ data_folder: string; is_new: boolean }> {
  const { bin, folder, passwords, template_folder: templateFolder } = input;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // initdb writes PG_VERSION early, so leftovers of a killed process have one too, under another name
  const found = readdirSync(folder).filter(
    (name) => !name.startsWith(UNFINISHED) && existsSync(join(folder, name, "PG_VERSION")),
  );
  // the version is read only when needed, because another process would slow down the first command
  const own = found.length > 1 ? String(await readMajorVersion(bin)) : found[0];
  if (own !== undefined && found.includes(own)) return { data_folder: join(folder, own), is_new: false };
  const unfinished = unfinishedPath(folder);
  try {
    if (templateFolder === undefined) {
      await initCluster(bin, unfinished, passwords.superuser);
      writeAccess(unfinished, { ...passwords, former: null, prepared: 0 });
    } else {
      await provisionCluster(bin, templateFolder, unfinished);
    }
    const major = Number.parseInt(readFileSync(join(unfinished, "PG_VERSION"), "utf8"), 10);
    refuseOldVersion(bin, major, `PostgreSQL ${major}`);
    const dataFolder = join(folder, String(major));
    moveFile(unfinished, dataFolder);
    return { data_folder: dataFolder, is_new: true };
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** A sibling name for a cluster that is being made or removed. */
export function unfinishedPath(folder: string): string {
  return join(folder, `${UNFINISHED}${randomBytes(4).toString("hex")}`);
}

/** Removes leftovers of a killed process. Its initdb may still write there for a moment, so the removal retries. */
export async function removeUnfinished(folder: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter((name) => name.startsWith(UNFINISHED));
  await Promise.all(leftovers.map((name) => removeFolder(join(folder, name))));
}

function refuseOldVersion(bin: string, major: number, name: string): void {
  if (major >= OLDEST_MAJOR) return;
  throw appError("postgres_unsupported", {
    detail: `The PostgreSQL in ${bin} is ${name}; PostgreSQL ${OLDEST_MAJOR} or newer is needed.`,
    hint: "Unset SERVICE_PG_BIN to use the PostgreSQL of the installation.",
    meta: { bin, version: name },
  });
}

/** Reads the major version of the PostgreSQL in `bin`. @throws postgres_failed, postgres_unsupported below 18 */
export async function readMajorVersion(bin: string): Promise<number> {
  const program = join(bin, "postgres");
  const answer = await runStatement(program, ["--version"], { timeout: VERSION_TIMEOUT_MS, windowsHide: true }).catch(
    (cause: unknown) => {
      throw appError("postgres_failed", { detail: `${program} cannot be run.`, cause });
    },
  );
  const major = Number(/(\d+)(?:\.\d+|devel|beta\d*|rc\d*)/.exec(answer.stdout)?.[1] ?? Number.NaN);
  refuseOldVersion(bin, major, answer.stdout.trim());
  return major;
}
