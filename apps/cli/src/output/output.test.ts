import { expect, test } from "vitest";
import { csvLine } from "./csv.ts";
import { createOutput } from "./output.ts";

test("without a terminal, prints equal states of progress once", () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const out = createOutput(stream, stream, false);
  for (const text of ["x: 0 of 8", "y: 0 of 8", "x: 0 of 8", "y: 0 of 8", "x: 8 of 8"]) out.status(text);
  expect(written).toEqual(["x: 0 of 8\n", "y: 0 of 8\n", "x: 8 of 8\n"]);
});

test("foreign text is escaped on a terminal only, and JSON stays JSON", () => {
  const cell = "\u001b]0;title\u0007\u202etxt\u0085";
  const shown = (isTTY: boolean, print: (out: ReturnType<typeof createOutput>) => void) => {
    const written: string[] = [];
    const stream = { write: (text: string) => written.push(text), isTTY };
    print(createOutput(stream, stream, true));
    return written.join("");
  };
  const row = csvLine([cell, "a\nb"]);
  expect(shown(false, (out) => out.data(row))).toBe(`${cell},"a\nb"\n`);
  expect(shown(true, (out) => out.data(row))).toBe('\\u001b]0;title\\u0007\\u202etxt\\u0085,"a\nb"\n');
  const json = shown(true, (out) => out.json({ cell }));
  expect(json).not.toMatch(/(?!\n)\p{Cc}|\p{Bidi_Control}/u);
  expect(JSON.parse(json)).toEqual({ cell });
});
