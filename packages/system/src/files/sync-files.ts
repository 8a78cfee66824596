import { execFile } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { promisify } from "node:util";
import { syncFile } from "./descriptors.ts";

const TIMEOUT_MS = 120_000;
const run = promisify(execFile);

/**
 * Makes everything below a folder survive a power cut. Syncs the whole file system, which is much faster than syncing
 * each file. Where the system has no such command, it syncs the listed files.
 */
export async function syncFiles(folder: string, files: readonly string[]): Promise<void> {
  const isDone =
    process.platform === "linux" &&
    (await run("sync", ["-f", folder], { timeout: TIMEOUT_MS }).then(
      () => true,
      // the command is missing, or lacks that option
      () => false,
    ));
  if (!isDone) for (const file of files) await syncPath(file);
  await syncPath(folder);
}

/** Syncs a file or a folder's entries to disk. A rename survives a power cut once its folder is synced. */
export async function syncPath(path: string): Promise<void> {
  const file = openSync(path, "r");
  try {
    await syncFile(file);
  } catch (error) {
    // not every system can sync folders
    if (!["EPERM", "EISDIR", "EINVAL"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    closeSync(file);
  }
}
