import { expect, test } from "vitest";
import { readPreferences } from "./prefer.ts";

const read = (prefer: string | undefined) => Object.fromEntries(readPreferences({ prefer }));

test("preferences are read with and without values, in quotes and in any case", () => {
  expect(read(undefined)).toEqual({});
  expect(read("timing")).toEqual({ timing: "" });
  expect(read("return=minimal, Timing")).toEqual({ return: "minimal", timing: "" });
  expect(read('Return="minimal" ,respond-async; x=1, wait=10')).toEqual({
    return: "minimal",
    "respond-async": "",
    wait: "10",
  });
});

test("of a repeated preference the first counts, and what is no preference is left alone", () => {
  expect(read("return=minimal, return=representation")).toEqual({ return: "minimal" });
  expect(read(",, =, ;")).toEqual({});
});
