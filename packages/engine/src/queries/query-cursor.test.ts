import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { readQueryCursor, writeQueryCursor } from "./query-cursor.ts";

const SCOPE = "rows of 3";

/** A cursor with the right checksum, which anyone can compute. */
function forged(text: string): string {
  const payload = Buffer.from(text).toString("base64url");
  return `${payload}.${hash("sha256", `${payload}\n${SCOPE}`, "base64url").slice(0, 22)}`;
}

test("a cursor gives back the position that it was written for", () => {
  const cursor = writeQueryCursor(SCOPE, 2, { keys: ["a", null], returned: 4 });
  expect(readQueryCursor(SCOPE, cursor)).toEqual({ size: 2, after: { keys: ["a", null], returned: 4 } });
  expect(forged('[2,4,"a",null]')).toBe(cursor);
});

test.each([
  "null",
  "{}",
  "7",
  "no JSON",
  "[]",
  '[0,0,"a"]',
  '[-1,0,"a"]',
  '["2",0,"a"]',
  '[2,-5,"a"]',
  '[2,1.5,"a"]',
  '[2,1e300,"a"]',
  '[2,null,"a"]',
  "[2,0,1]",
  '[2,0,{"a":1}]',
  '[2,0,["a"]]',
])("a forged cursor of %s is refused", (text) => {
  expect(() => readQueryCursor(SCOPE, forged(text))).toThrow(expect.objectContaining({ code: "invalid_cursor" }));
});
