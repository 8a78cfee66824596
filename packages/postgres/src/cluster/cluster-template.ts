import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { makePasswords, writeAccess } from "./cluster-access.ts";
import { copyCluster } from "./copy-cluster.ts";
import { initCluster, makeSoleDatabase, syncCluster } from "./init-cluster.ts";
import { PREPARED, preparedFromStart } from "./prepare-cluster.ts";

/** The one database of a cluster that is made from a template. */
export const SOLE_DATABASE = "main";

const COPY_TIMEOUT_MS = 120_000;
/** Nobody takes so long to make a template. */
const FORGOTTEN_MS = 600_000;
/** Another user made the template's place, or it is there to be read only. */
const NOT_OURS = ["EACCES", "EPERM", "EROFS"];
const TAKEN = ["EEXIST", "ENOTEMPTY"];
const runStatement = promisify(execFile);

/** Where the template of a major version lies below a folder. The number grows with what a template holds: former ones are not used. */
export function templateFolder(folder: string, major: number): string {
  return join(folder, `${major}-${PREPARED}`);
}

/**
 * Makes the cluster of which others are copies, unless it is there: with the database `SOLE_DATABASE` alone, everybody may read
 * it (it holds nothing of anybody, and its passwords hold until the first start of a copy). It appears whole; of several who make it at once the first wins and the others take its.
 * @throws postgres_failed; what the system says of a folder that cannot be written
 */
export async function ensureTemplate(bin: string, template_folder: string): Promise<void> {
  if (existsSync(join(template_folder, "PG_VERSION"))) return;
  const parent = dirname(template_folder);
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  removeForgotten(template_folder);
  const unfinished = `${template_folder}.unfinished-${randomBytes(4).toString("hex")}`;
  try {
    // tells at once whether we may, before the work
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

/** Removes what was being made by somebody who was killed. */
function removeForgotten(template_folder: string): void {
  const prefix = `${basename(template_folder)}.unfinished-`;
  for (const name of readdirSync(dirname(template_folder))) {
    const path = join(dirname(template_folder), name);
    const made = name.startsWith(prefix) ? statSync(path, { throwIfNoEntry: false })?.mtimeMs : undefined;
    if (made !== undefined && made < Date.now() - FORGOTTEN_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Makes a cluster in a folder that is not there yet: a copy of the template, or the same from the start where none can be kept. */
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
  await makeSoleDatabase(bin, dataFolder, SOLE_DATABASE, preparedFromStart(SOLE_DATABASE, passwords));
  writeAccess(dataFolder, { ...passwords, former: null, prepared: PREPARED });
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? "");
}
