import type { ColumnType } from "@appdb/contract/types";
import { expect, test } from "vitest";
import { readStoredRows, sliceResults, sliceRows } from "./run-rows.ts";

const type = (kind: ColumnType["kind"]): ColumnType => ({ kind });
const inputs = [
  { name: "title", type: type("string"), nullable: true },
  { name: "n", type: type("int"), nullable: true },
  { name: "x", type: type("float"), nullable: true },
  { name: "is_new", type: type("bool"), nullable: true },
  { name: "at", type: type("timestamp"), nullable: true },
];
const error = { type: "ValueError", message: "no", function: "app:f" };
const result = {
  rows: [
    [
      "{a,b}",
      "{7,8}",
      '["say \\"hi\\"\\n", null]',
      '["9223372036854775807", "-3"]',
      '["-0", "NaN"]',
      "[true, null]",
      '["2024-01-02 03:04:05.6+00", null]',
      JSON.stringify([null, JSON.stringify({ score: error, other: error, late: "pending" })]),
    ],
  ],
  row_count: 1,
};

test("columns of stored values are read exactly, with relevant errors", () => {
  expect(readStoredRows(result, inputs, new Set(["score", "late"]))).toEqual({
    ids: ["a", "b"],
    rowVersions: ["7", "8"],
    inputs: [
      ['say "hi"\n', null],
      [9223372036854775807n, -3],
      [-0, Number.NaN],
      [true, null],
      ["2024-01-02T03:04:05.600000Z", null],
    ],
    failed: new Map([[1, { score: error }]]),
  });
});

test("no rows give no columns", () => {
  const none = { rows: [[null, null, null, null, null, null, null]], row_count: 1 };
  expect(readStoredRows(none, inputs, new Set()).ids).toEqual([]);
});

test("a slice of rows and results keeps what belongs to its rows", () => {
  const rows = readStoredRows(result, inputs, new Set(["score"]));
  expect(sliceRows(rows, 1, 2)).toMatchObject({
    ids: ["b"],
    rowVersions: ["8"],
    failed: new Map([[0, { score: error }]]),
  });
  expect(sliceRows(rows, 0, 1).failed.size).toBe(0);
  const udfError = { ...error, kind: "raised" as const, at: null };
  const results = { columns: [[1, 2, 3]], errors: new Map([[2, { y: udfError }]]) };
  expect(sliceResults(results, 1, 3)).toEqual({ columns: [[2, 3]], errors: new Map([[1, { y: udfError }]]) });
});
