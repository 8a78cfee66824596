const FIRST_MS = 100;
const LONGEST_MS = 10_000;

/** Milliseconds before a restart after this many quick ends in a row: 100 at first, 10 s at most. */
export function restartPause(earlyExits: number): number {
  return Math.min(FIRST_MS * 2 ** earlyExits, LONGEST_MS);
}
