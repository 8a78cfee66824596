import { expect, test } from "vitest";
import { findOverflow, MAX_MEMBERS } from "./bound-members.ts";
import { parseBody } from "./parse-body.ts";

function objectOf(count: number): string {
  return `{${Array.from({ length: count }, (_, at) => `"c${at}":1`).join(",")}}`;
}
const LONG = JSON.stringify('\\"{[:'.repeat(60_000));

test.each([
  ["a body", objectOf(MAX_MEMBERS + 1), "members"],
  ["a value", `{"long":${LONG},"meta":[{"a":${objectOf(MAX_MEMBERS + 1)}}]}`, "members"],
  ["deep lists", `{"meta":${"[".repeat(7_000_000)}`, "levels"],
])("refuses %s beyond the limit before it is parsed", (_what, text, says) => {
  expect(findOverflow(text)).toContain(says);
  expect(() => parseBody(text)).toThrow(says);
});

test.each([
  ["as many members as allowed", objectOf(MAX_MEMBERS)],
  ["a long list", JSON.stringify({ values: Array(500_000).fill({ a: 1 }) })],
  ["marks inside of texts", `{"long":${LONG},"more":"\\\\","title":"${":".repeat(100_000)}"}`],
])("takes %s", (_what, text) => {
  expect(findOverflow(text)).toBeUndefined();
  expect(Object.keys(parseBody(text).members).length).toBeGreaterThan(0);
});
