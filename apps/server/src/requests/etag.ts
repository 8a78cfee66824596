import { appError } from "@appdb/contract/errors";
import type { FastifyRequest } from "fastify";

/** The version of a resource, in the form of `etag` and If-Match. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/** Checks If-Match, if present, against the current version. @throws precondition_failed */
export function checkIfMatch(request: FastifyRequest, etag: string): void {
  const ifMatch = request.headers["if-match"];
  if (ifMatch === undefined) return;
  const named = ifMatch.split(",").map((one) => one.trim());
  if (named.includes("*") || named.includes(etag)) return;
  throw appError("precondition_failed", {
    detail: `It is at version ${etag}, not ${ifMatch.slice(0, 100)}: someone has changed it in the meantime.`,
    hint: "Read it again, then change the new version.",
    meta: { etag },
  });
}
