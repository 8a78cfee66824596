import { expect, test } from "vitest";
import { printReference, readDescription, readReference } from "./media.ts";

test("a cell has neither halves of characters nor NUL, which PostgreSQL refuses", () => {
  const cell = printReference({ url: "s3://a/\ud800", name: "a\0b", width: 1 });
  expect(cell).not.toMatch(/\\u0000|\\ud800/);
  expect(readReference(cell)).toEqual({ url: "s3://a/\ufffd", name: "a\ufffdb", width: 1 });
  expect(readReference(printReference({ url: "s3://a/b", name: "\\u0000" })).name).toBe("\\u0000");
});

test("a description of a file has whole numbers, a mode and a name that can be printed", () => {
  expect(readDescription({ width: 4, height: 0, mode: "I;16B", name: "sea.png" })).toEqual({
    width: 4,
    height: 0,
    mode: "I;16B",
    name: "sea.png",
  });
  expect(readDescription({ width: "\ud800", height: 1.5, mode: "a\0b", name: "a\u202e\u009b\0b", store: "x" })).toEqual(
    {
      name: "ab",
    },
  );
  expect(readDescription({ width: -1, height: 2 ** 53, mode: 1, name: {} })).toEqual({});
});
