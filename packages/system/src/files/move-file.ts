import { renameSync } from "node:fs";

/** Errors of Windows while another program (a virus scanner, an indexer, one of our readers) has the file open. */
const HELD = ["EPERM", "EACCES", "EBUSY"];
const PATIENCE_MS = 3_000;
const FIRST_PAUSE_MS = 5;

export interface MoveDeps {
  readonly rename: (from: string, to: string) => void;
  /** Whether the system refuses to move open files. */
  readonly has_held_files: boolean;
  readonly patience_ms: number;
}

const DEPS: MoveDeps = {
  rename: renameSync,
  has_held_files: process.platform === "win32",
  patience_ms: PATIENCE_MS,
};

/**
 * Renames a file or a folder and replaces a file at the destination. Windows refuses while another program has either
 * file open, so the function retries for three seconds there.
 * @throws the system's error
 */
export function moveFile(
  from: string,
  to: string,
  { has_held_files: hasHeldFiles, patience_ms: timeoutMs, rename }: MoveDeps = DEPS,
): void {
  const until = performance.now() + timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    try {
      rename(from, to);
      return;
    } catch (error) {
      const isHeld = hasHeldFiles && HELD.includes((error as NodeJS.ErrnoException).code ?? "");
      if (!isHeld || performance.now() + pauseMs > until) throw error;
      // callers replace files in one step: nothing else of theirs may run in between
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}
