import { hash } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { PageOf, PagePosition } from "./pages.ts";

/** A cursor travels in URLs, of which servers and proxies take some thousand characters. */
const MAX_CHARACTERS = 4_000;
const CHECK_CHARACTERS = 22;

/**
 * Writes where the next page begins, for programs to hand back as it is. `scope` is what the cursor belongs to, the query
 * and its arguments: it is no part of the cursor, but of its checksum.
 * @throws not_pageable when the row has a sort value that is too long for a URL
 */
export function writeQueryCursor(scope: string, size: number, { keys, given }: PagePosition): string {
  const payload = Buffer.from(JSON.stringify([size, given, ...keys])).toString("base64url");
  if (payload.length > MAX_CHARACTERS) {
    throw appError("not_pageable", {
      detail: `The last row of the page has a sort value of ${Math.max(...keys.map((key) => key?.length ?? 0))} characters, too long for a cursor.`,
      hint: "Sort by shorter values, or ask for the rows without page_size=.",
    });
  }
  return `${payload}.${checksum(scope, payload)}`;
}

/** Reads a cursor. @throws invalid_cursor for one that was changed, or that belongs to another query or other arguments */
export function readQueryCursor(scope: string, cursor: string): PageOf {
  const [payload = "", check] = cursor.split(".", 2);
  if (check !== checksum(scope, payload)) {
    throw appError("invalid_cursor", {
      detail: "The cursor was changed, or belongs to another query or to other values of its parameters.",
      hint: "Follow the Link of the page before as it is, with the same parameters; or begin again without cursor=.",
      errors: [{ pointer: "/cursor", detail: "The cursor does not belong to this request." }],
    });
  }
  const [size, given, ...keys] = JSON.parse(Buffer.from(payload, "base64url").toString()) as [
    number,
    number,
    ...string[],
  ];
  return { size, after: { given, keys } };
}

function checksum(scope: string, payload: string): string {
  return hash("sha256", `${payload}\n${scope}`, "base64url").slice(0, CHECK_CHARACTERS);
}
