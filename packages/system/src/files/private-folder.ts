import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder and its missing parents, accessible only to their owner. Node's `recursive` option never returns
 * where the system refuses with ENOENT although the parent exists, as below /proc.
 * @throws the system's error
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
