/** Whether a body ended before its end: Node's error when the other side disconnects. */
export function isCutBody(error: unknown): boolean {
  return error instanceof Error && error.message === "aborted" && "code" in error && error.code === "ECONNRESET";
}
