import { expect, test } from "vitest";
import { nextAttempt } from "./attempt.ts";

test("a retry after a lost answer keeps its key", () => {
  const first = nextAttempt(undefined, { name: "ci" });
  expect(nextAttempt(first, { name: "ci" })).toEqual(first);
});

test("a new request gets a new key", () => {
  const first = nextAttempt(undefined, { name: "ci" });
  expect(nextAttempt(first, { name: "edge" }).key).not.toBe(first.key);
  expect(nextAttempt(undefined, { name: "ci" }).key).not.toBe(first.key);
  expect(first.key).toMatch(/^[0-9a-f]{32}$/);
});

test("a request without input gets a key too", () => {
  const first = nextAttempt(undefined, undefined);
  expect(first.key).toMatch(/^[0-9a-f]{32}$/);
  expect(nextAttempt(first, undefined)).toEqual(first);
});
