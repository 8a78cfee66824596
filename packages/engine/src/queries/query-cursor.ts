import { hash } from "node:crypto";
import { type AppError, appError } from "@appdb/contract/errors";
import type { PageOf, PagePosition } from "./pages.ts";

/** A cursor is part of URLs, which servers and proxies limit to some thousand characters. */
const MAX_CHARACTERS = 4_000;
const CHECK_CHARACTERS = 22;

/**
 * Writes an opaque cursor for the start of the next page. `scope` is the query and its arguments. The cursor does not
 * contain it, but its checksum covers it.
 * @throws not_pageable when a sort value of the row is too long for a URL
 */
export function writeQueryCursor(scope: string, size: number, { keys, returned }: PagePosition): string {
  const payload = Buffer.from(JSON.stringify([size, returned, ...keys])).toString("base64url");
  if (payload.length > MAX_CHARACTERS) {
    throw appError("not_pageable", {
      detail: `The last row of the page has a sort value of ${Math.max(...keys.map((key) => key?.length ?? 0))} characters, too long for a cursor.`,
      hint: "Sort by shorter values, or omit page_size=.",
    });
  }
  return `${payload}.${checksum(scope, payload)}`;
}

/** Reads a cursor. @throws invalid_cursor for a changed one, or one of another query or other arguments */
export function readQueryCursor(scope: string, cursor: string): PageOf {
  const [payload = "", check] = cursor.split(".", 2);
  if (check !== checksum(scope, payload)) throw invalidCursor();
  const position = positionOf(payload);
  if (position === undefined) throw invalidCursor();
  return position;
}

/** The error for a cursor that no page of this request has returned. */
export function invalidCursor(): AppError {
  return appError("invalid_cursor", {
    detail: "The cursor was changed, or belongs to another query or other parameter values.",
    hint: "Follow the Link of the previous page unchanged, with the same parameters; or start again without cursor=.",
    errors: [{ pointer: "/cursor", detail: "The cursor does not belong to this request." }],
  });
}

/** Anyone can compute the checksum, so the content is checked too: the size, the rows so far, the keys. */
function positionOf(payload: string): PageOf | undefined {
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(payload, "base64url").toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(content)) return undefined;
  const [size, returned, ...keys]: unknown[] = content;
  if (!isCount(size) || size === 0 || !isCount(returned) || !keys.every(isKey)) return undefined;
  return { size, after: { returned, keys } };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isKey(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function checksum(scope: string, payload: string): string {
  return hash("sha256", `${payload}\n${scope}`, "base64url").slice(0, CHECK_CHARACTERS);
}
