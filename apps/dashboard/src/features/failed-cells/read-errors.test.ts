import { expect, test } from "vitest";
import { readErrors } from "./read-errors.ts";

test("failed cells have their row's key with all digits, their reason and their cause", () => {
  const error = (column: string, cause: string | null) =>
    `{"key":{"id":9007199254740993,"lang":"de"},"column":"${column}","errortype":"ValueError","errormsg":"bad text","function":null,"cause":${JSON.stringify(cause)}}`;
  const text = `{"tables":[{"table":"docs","rows":1,"counts":{"share":1,"half":1},"errors":[${error("share", null)},${error("half", "share")}]}]}`;
  expect(readErrors(text)).toEqual({
    counts: [
      ["share", 1],
      ["half", 1],
    ],
    cells: [
      { row: "9007199254740993, de", column: "share", reason: "ValueError: bad text", cause: undefined },
      { row: "9007199254740993, de", column: "half", reason: "ValueError: bad text", cause: "share" },
    ],
  });
});

test("a database without failures has none, and a malformed answer is an error", () => {
  expect(readErrors('{"tables":[]}')).toEqual({ counts: [], cells: [] });
  expect(() => readErrors('{"rows":[]}')).toThrow("contains no errors");
});
