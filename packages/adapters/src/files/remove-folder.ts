import { rm } from "node:fs/promises";

/**
 * Removes a file or a folder, if it is there, with all that lies in it. What a process that was just ended still writes there
 * is removed as well: for some seconds it is tried again. Rejects with the system's error after that.
 */
export function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
