const FULL = ["ENOSPC", "EDQUOT"];

/** Whether the system refused a write because the disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && FULL.includes(error.code);
}
