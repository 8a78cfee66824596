import type { LogLine } from "@appdb/contract/routes/control-databases";
import { expect, test } from "vitest";
import { addLines, filterLines, groupLines, MAX_LINES, printLine } from "./log-lines.ts";

const line = (text: string, level: LogLine["level"] = "info"): LogLine => ({
  number: 0,
  at: "2026-01-02T03:04:05.000Z",
  level,
  line: text,
});
const texts = (lines: readonly LogLine[]) => lines.map((line) => line.line);

test("terminal colours and control characters are hidden", () => {
  const came = ["\u001b[1;31mred\u001b[0m", "\u001b]8;;http://x\u0007link\u001b]8;;\u0007", "50%\r100%", "a\tb\u0000"];
  expect(
    texts(
      addLines(
        [],
        came.map((text) => line(text)),
      ),
    ),
  ).toEqual(["red", "link", "50%100%", "a\tb"]);
});

test("the newest lines are kept, with their positions", () => {
  const first = addLines(
    [],
    Array.from({ length: MAX_LINES }, (_, index) => line(`first ${index}`)),
  );
  const both = addLines(first, [line("second 0"), line("second 1")]);
  expect(both).toHaveLength(MAX_LINES);
  expect(both[0]).toMatchObject({ line: "first 2", index: 3 });
  expect(both.at(-1)).toMatchObject({ line: "second 1", index: MAX_LINES + 2 });
});

test("lines are filtered by level and by text in any case", () => {
  const lines = addLines([], [line("Error in app", "error"), line("slow", "warn"), line("an error, once", "debug")]);
  expect(texts(filterLines(lines, "debug", "ERROR"))).toEqual(["Error in app", "an error, once"]);
  expect(texts(filterLines(lines, "warn", ""))).toEqual(["Error in app", "slow"]);
  expect(texts(filterLines(lines, "error", "slow"))).toEqual([]);
});

test("earlier groups stay unchanged when lines arrive", () => {
  const lines = addLines(
    [],
    Array.from({ length: 250 }, (_, index) => line(`${index}`)),
  );
  const before = groupLines(lines);
  const after = groupLines(addLines(lines, [line("more")]));
  expect(before.map((group) => group.length)).toEqual([99, 100, 51]);
  expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
});

test("a printed line has time, level and text", () => {
  expect(printLine(line("started", "warn"))).toBe("2026-01-02T03:04:05.000Z warn  started");
});
