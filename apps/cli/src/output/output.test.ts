import { expect, test } from "vitest";
import { createOutput } from "./output.ts";

test("without a terminal, prints equal states of progress once", () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const out = createOutput(stream, stream, false);
  for (const text of ["x: 0 of 8", "y: 0 of 8", "x: 0 of 8", "y: 0 of 8", "x: 8 of 8"]) out.status(text);
  expect(written).toEqual(["x: 0 of 8\n", "y: 0 of 8\n", "x: 8 of 8\n"]);
});
