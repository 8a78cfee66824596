import { expect, test } from "vitest";
import { maxRowBytes } from "./row-bytes.ts";

test.each([
  [64_000_000, 1024, 16_000_000],
  [64_000_000, 64_000, 64_000_000],
  [64_000_000, 16, 1_000_000],
  [1_000, 1024, 1_000],
])("a row within %s bytes of a result and %s MB of memory has %s bytes", (resultBytes, memoryMb, bytes) => {
  expect(maxRowBytes(resultBytes, memoryMb)).toBe(bytes);
});
