import { expect, test } from "vitest";
import { nextFetch } from "./next-fetch.ts";

const rows = (count: number, bytes: number) => Array.from({ length: count }, () => ["x".repeat(bytes), null]);

test("small rows are fetched many at a time", () => {
  expect(nextFetch(rows(8, 20), 500)).toBe(500);
});

test("large rows are fetched few at a time", () => {
  expect(nextFetch(rows(8, 600_000), 500)).toBe(6);
  expect(nextFetch(rows(2, 16_000_000), 500)).toBe(1);
});
