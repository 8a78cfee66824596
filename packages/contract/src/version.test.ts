import { expect, test } from "vitest";
import { compareVersions } from "./version.ts";

test.each([
  ["0.8.0", "0.8.0", 0],
  ["0.7.10", "0.8.0", -1],
  ["0.10.0", "0.9.9", 1],
  ["0.8.0-dev", "0.8.0", 0],
  ["0.8.0-rc.1", "0.8.0", 0],
  ["0.7.12", "0.8", -1],
  ["1.0.0", "0.99.99", 1],
])("compares %s with %s by number", (left, right, sign) => {
  expect(compareVersions(left, right)).toBe(sign);
});
