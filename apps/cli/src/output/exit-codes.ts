import type { ErrorCode } from "@appdb/contract/errors";

/**
 * 0 done, 1 failed, 2 usage, 3 refused or needs `-f`, 130 interrupted. Verbs with a plan use 2 for "something is
 * pending" and therefore 1 for usage errors.
 */
export const EXIT = { done: 0, failed: 1, usage: 2, pending: 2, refused: 3, interrupted: 130 } as const;

/** Errors that need the user's decision; nothing failed. */
const REFUSED: ReadonlySet<ErrorCode> = new Set([
  "confirmation_required",
  "destructive_refused",
  "other_project",
  "daemon_busy",
  "project_exists",
  "file_exists",
]);

/** The exit code of an error; `has_plan` for the verbs of schema and service. */
export function exitCodeOf(code: ErrorCode, hasPlan: boolean): number {
  if (code === "interrupted") return EXIT.interrupted;
  // A grant is part of the command line and is checked before any request.
  if (code === "invalid_grant") return EXIT.usage;
  if (code === "usage") return hasPlan ? EXIT.failed : EXIT.usage;
  return REFUSED.has(code) ? EXIT.refused : EXIT.failed;
}
