import { expect, test } from "vitest";
import { linePath, roundUp } from "./chart-scale.ts";

test("an axis ends at the next round number", () => {
  expect([0, 0.03, 1, 1.1, 3, 7, 10, 480, 5_001].map(roundUp)).toEqual([1, 0.05, 1, 2, 5, 10, 10, 500, 10_000]);
});

test("a line has a gap without a measurement", () => {
  expect(linePath([0, 5, null, 10], 10, 40, 10)).toBe("M5 10h0L15 5M35 0h0");
  expect(linePath([null], 1, 40, 10)).toBe("");
});
