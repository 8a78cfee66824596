import { type AppError, appError } from "../errors.ts";
import type { Route } from "../routes/api.ts";

/** Errors of connections that were open. Others say that no connection was made, so nothing was written. */
const BROKEN = ["ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "UND_ERR_SOCKET"];

/** What is unknown after a write of rows, and how its caller finds out, by the end of its path. */
const WRITES: readonly {
  readonly method: string;
  readonly end: string;
  readonly unknown: string;
  readonly hint: string;
}[] = [
  {
    method: "POST",
    end: "/rows",
    unknown: "the rows may or may not be stored",
    hint: "Count the rows of the table, then insert the missing ones again.",
  },
  {
    method: "PATCH",
    end: "/rows",
    unknown: "the rows may or may not be changed",
    hint: "Read the rows before you change them again.",
  },
  {
    method: "POST",
    end: "/rows/delete",
    unknown: "the rows may or may not be deleted",
    hint: "Count the rows of the table before you delete them again.",
  },
];

/**
 * The error of a write of rows whose connection to `place` broke after the request was sent. Undefined for another
 * request, and when no connection was made.
 */
export function lostWrite(place: string, { method, path }: Route, cause: unknown): AppError | undefined {
  const write = WRITES.find((one) => one.method === method && path.endsWith(`/tables/:table${one.end}`));
  if (write === undefined || !isBroken(cause)) return undefined;
  return appError("commit_unknown", {
    detail: `The connection to ${place} broke before the answer: ${write.unknown}.`,
    hint: write.hint,
    meta: { request: `${method} ${path}` },
    cause,
  });
}

/** `fetch` wraps the system's error. */
function isBroken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && BROKEN.includes(String(error.code))) || isBroken(error.cause);
}
