import { execFile } from "node:child_process";
import { open } from "node:fs/promises";
import { promisify } from "node:util";

const TIMEOUT_MS = 120_000;
const run = promisify(execFile);

/**
 * Has everything below a folder outlive a power cut. The whole file system is written out, which takes a moment where one file after the
 * other takes seconds; where the system has no such command, the files that are named.
 */
export async function syncFiles(folder: string, files: readonly string[]): Promise<void> {
  const isDone =
    process.platform === "linux" &&
    (await run("sync", ["-f", folder], { timeout: TIMEOUT_MS }).then(
      () => true,
      // one without that option, or none
      () => false,
    ));
  if (!isDone) for (const file of files) await syncPath(file);
  await syncPath(folder);
}

/** Writes a file, or the names in a folder, to the disk: a rename outlives a power cut once its folder is written. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } catch (error) {
    // folders cannot be synced everywhere
    if (!["EPERM", "EISDIR", "EINVAL"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    await handle.close();
  }
}
