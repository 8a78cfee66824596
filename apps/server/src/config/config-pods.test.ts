import { expect, test } from "vitest";
import { shareOf } from "./config-pods.ts";

test.each([
  [1, 1],
  [2, 2],
  [4, 2],
  [16, 4],
  [64, 16],
])("with %i cores, one database may have %i by default", (machine, max) => {
  expect(shareOf(machine, 2)).toBe(max);
});
