import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { makePasswords, writeAccess } from "./cluster-access.ts";
import { copyCluster } from "./copy-cluster.ts";
import { createOnlyDatabase, initCluster, syncCluster } from "./init-cluster.ts";
import { PREPARED, preparedFromStart } from "./prepare-cluster.ts";

/** The only database of a cluster that is made from a template. */
export const SOLE_DATABASE = "main";

const COPY_TIMEOUT_MS = 120_000;
/** Exceeds the time to make a template. */
const FORGOTTEN_MS = 600_000;
/** Errors when another user owns the template's folder, or it is read-only. */
const NOT_OURS = ["EACCES", "EPERM", "EROFS"];
const TAKEN = ["EEXIST", "ENOTEMPTY"];
const runStatement = promisify(execFile);

/**
 * Folder of the template of a major version. The number increases with the template's contents, so older templates are
 * not used.
 */
export function templateFolder(folder: string, major: number): string {
  return join(folder, `${major}-${PREPARED}`);
}

/**
 * Makes the template cluster unless it exists, with `SOLE_DATABASE` as its only database. Everyone may read it: it
 * contains no user data, and its passwords are valid only until the first start of a copy. It appears atomically; the
 * first of several concurrent callers wins and the others use its result.
 * @throws postgres_failed; the system's error for an unwritable folder
 */
export async function ensureTemplate(bin: string, template_folder: string): Promise<void> {
  if (existsSync(join(template_folder, "PG_VERSION"))) return;
  const parent = dirname(template_folder);
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  removeStaleTemplates(template_folder);
  const unfinished = `${template_folder}.unfinished-${randomBytes(4).toString("hex")}`;
  try {
    // fails before the work when the folder is not writable
    mkdirSync(unfinished, { mode: 0o700 });
    await makeCluster(bin, unfinished);
    await syncCluster(bin, unfinished);
    await runStatement("chmod", ["-R", "a+rX", unfinished]);
    renameSync(unfinished, template_folder);
  } catch (error) {
    if (!TAKEN.includes(codeOf(error)) || !existsSync(join(template_folder, "PG_VERSION"))) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Removes unfinished folders of killed processes. */
function removeStaleTemplates(template_folder: string): void {
  const prefix = `${basename(template_folder)}.unfinished-`;
  for (const name of readdirSync(dirname(template_folder))) {
    const path = join(dirname(template_folder), name);
    const modifiedMs = name.startsWith(prefix) ? statSync(path, { throwIfNoEntry: false })?.mtimeMs : undefined;
    if (modifiedMs !== undefined && modifiedMs < Date.now() - FORGOTTEN_MS)
      rmSync(path, { recursive: true, force: true });
  }
}

/** Makes a cluster in a new folder: a copy of the template, or an equal cluster where no template can be kept. */
export async function provisionCluster(bin: string, template_folder: string, dataFolder: string): Promise<void> {
  try {
    await ensureTemplate(bin, template_folder);
  } catch (error) {
    if (!NOT_OURS.includes(codeOf(error))) throw error;
    await makeCluster(bin, dataFolder);
    return;
  }
  await copyCluster(template_folder, dataFolder, { timeout_ms: COPY_TIMEOUT_MS });
}

async function makeCluster(bin: string, dataFolder: string): Promise<void> {
  const passwords = makePasswords();
  await initCluster(bin, dataFolder, passwords.superuser);
  await createOnlyDatabase(bin, dataFolder, SOLE_DATABASE, preparedFromStart(SOLE_DATABASE, passwords));
  writeAccess(dataFolder, { ...passwords, former: null, prepared: PREPARED });
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? "");
}
