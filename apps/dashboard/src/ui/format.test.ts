import { expect, test } from "vitest";
import { formatBytes, formatDuration, plural } from "./format.ts";

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_024, "1 KiB"],
  [16_384, "16 KiB"],
  [3_650_722_202, "3.4 GiB"],
  [10_737_418_240, "10 GiB"],
  [220_000_000, "210 MiB"],
])("%d bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [999, "0s"],
  [45_000, "45s"],
  [185_000, "3m 05s"],
  [7_800_000, "2h 10m"],
  [532_800_000, "6d 4h"],
])("%d ms are %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test("uses the singular for one", () => {
  expect([plural(1, "row"), plural(12_345, "row"), plural(0, "row")]).toEqual(["1 row", "12,345 rows", "0 rows"]);
});
