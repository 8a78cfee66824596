import { type AppError, appError } from "../errors.ts";
import type { Route } from "../routes/api.ts";

/** Errors of connections that were open, unless their `syscall` is `connect`. */
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

/** The part of a route that says what it does. */
export type Request = Pick<Route, "method" | "path" | "is_safe">;

/**
 * The error of a write of rows whose connection to `place` broke after the request was sent. Undefined for another
 * request, and when no connection was made.
 */
export function lostWrite(place: string, { method, path }: Request, cause: unknown): AppError | undefined {
  const write = WRITES.find((one) => one.method === method && path.endsWith(`/tables/:table${one.end}`));
  if (write === undefined || !isBroken(cause)) return undefined;
  return appError("commit_unknown", {
    detail: `The connection to ${place} broke before the answer: ${write.unknown}.`,
    hint: write.hint,
    meta: { request: `${method} ${path}` },
    cause,
  });
}

/**
 * The same for any request that changes something. `look` says how its caller finds out; it is not called for rows.
 */
export function lostChange(place: string, route: Request, cause: unknown, look: () => string): AppError | undefined {
  const write = lostWrite(place, route, cause);
  if (write !== undefined || route.method === "GET" || route.is_safe === true || !isBroken(cause)) return write;
  const request = `${route.method} ${route.path}`;
  return appError("commit_unknown", {
    detail: `The connection to ${place} broke before the answer: ${request} may or may not be done.`,
    hint: look(),
    meta: { request },
    cause,
  });
}

/** Whether the connection was open, so that the request may have arrived. `fetch` wraps the system's error. */
export function isBroken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const wasOpen = !("syscall" in error && error.syscall === "connect");
  return ("code" in error && BROKEN.includes(String(error.code)) && wasOpen) || isBroken(error.cause);
}
