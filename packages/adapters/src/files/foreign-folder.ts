import { closeSync, constants, openSync } from "node:fs";
import { open } from "node:fs/promises";

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** To open what is a file only: no link, and no pipe that would be waited for. */
export const FOREIGN_FILE = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Works in a folder in which somebody else may put links, its own place included, while we may read everything. `path` leads to the
 * very folder that was found, whatever takes its name meanwhile; it holds until the work has ended. Undefined for a folder that is
 * not there, or is none.
 */
export async function inForeignFolder<T>(folder: string, work: (path: string) => Promise<T>): Promise<T | undefined> {
  const handle = await open(folder, FLAGS).catch(noFolder);
  if (handle === undefined) return undefined;
  try {
    return await work(pathOf(handle.fd, folder));
  } finally {
    await handle.close();
  }
}

/** As `inForeignFolder`, at once. */
export function inForeignFolderNow<T>(folder: string, work: (path: string) => T): T | undefined {
  let file: number;
  try {
    file = openSync(folder, FLAGS);
  } catch (error) {
    return noFolder(error);
  }
  try {
    return work(pathOf(file, folder));
  } finally {
    closeSync(file);
  }
}

/** Elsewhere no driver keeps pods apart. */
function pathOf(file: number, folder: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${file}` : folder;
}

function noFolder(error: unknown): undefined {
  if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
  throw error;
}
