import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder, and the missing ones above it, that only their owner may enter. Node's own `recursive` never returns
 * where the system refuses a new folder with ENOENT although the folder above exists, as below /proc.
 * @throws what the system says
 */
export function makePrivateFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || existsSync(above)) throw error;
    makePrivateFolder(above);
    makePrivateFolder(path);
  }
}
