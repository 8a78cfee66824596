import { expect, test } from "vitest";
import { nextAttempt } from "./attempt.ts";

test("what is asked again after a lost answer has the key of the first time", () => {
  const first = nextAttempt(undefined, { name: "ci" });
  expect(nextAttempt(first, { name: "ci" })).toEqual(first);
});

test("what is asked anew has a key of its own", () => {
  const first = nextAttempt(undefined, { name: "ci" });
  expect(nextAttempt(first, { name: "edge" }).key).not.toBe(first.key);
  expect(nextAttempt(undefined, { name: "ci" }).key).not.toBe(first.key);
  expect(first.key).toMatch(/^[0-9a-f]{32}$/);
});

test("what takes no input has a key, too", () => {
  const first = nextAttempt(undefined, undefined);
  expect(first.key).toMatch(/^[0-9a-f]{32}$/);
  expect(nextAttempt(first, undefined)).toEqual(first);
});
