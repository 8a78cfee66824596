import { expect, test } from "vitest";
import { readPreferences } from "./prefer.ts";

const read = (prefer: string | undefined) => Object.fromEntries(readPreferences({ prefer }));

test("parses preferences with and without values, quoted, in any case", () => {
  expect(read(undefined)).toEqual({});
  expect(read("timing")).toEqual({ timing: "" });
  expect(read("return=minimal, Timing")).toEqual({ return: "minimal", timing: "" });
  expect(read('Return="minimal" ,respond-async; x=1, wait=10')).toEqual({
    return: "minimal",
    "respond-async": "",
    wait: "10",
  });
});

test("the first of repeated preferences counts; invalid ones are ignored", () => {
  expect(read("return=minimal, return=representation")).toEqual({ return: "minimal" });
  expect(read(",, =, ;")).toEqual({});
});
