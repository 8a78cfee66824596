import { expect, test } from "vitest";
import { createLineSplitter } from "./output-lines.ts";

function linesOf(...pieces: (string | Buffer)[]): string[] {
  const lines: string[] = [];
  const splitter = createLineSplitter((line) => lines.push(line));
  for (const piece of pieces) splitter.push(Buffer.from(piece));
  splitter.end();
  return lines;
}

test("emits lines as printed, including an unterminated last line", () => {
  expect(linesOf("a\n\nb\r\nc", "d\ne")).toEqual(["a", "", "b", "cd", "e"]);
});

test("keeps a character intact that arrives in two pieces", () => {
  const bytes = Buffer.from("é\n");
  expect(linesOf(bytes.subarray(0, 1), bytes.subarray(1))).toEqual(["é"]);
});

test("splits an endless line into bounded pieces without loss", () => {
  const lines = linesOf(
    ..."x"
      .repeat(10)
      .split("")
      .map(() => "x".repeat(3_000)),
    "\nend\n",
  );
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(8 * 1024);
  expect(lines.slice(0, -1).join("")).toBe("x".repeat(30_000));
  expect(lines.at(-1)).toBe("end");
});
