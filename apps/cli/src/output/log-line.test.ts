import { expect, test } from "vitest";
import { describeLogLine } from "./log-line.ts";

test("what somebody sent to a service cannot pass for a line of its log, or draw over it", () => {
  const detail = "no item a\n2026-01-01T00:00:00.000Z info   all is well \u001b[2J\u009b31m";
  const line = JSON.stringify({ level: "info", time: "T", msg: "request refused", req: 7, detail });
  expect(describeLogLine(line)).toBe(
    "T info   request refused  req=7  detail=no item a\\n2026-01-01T00:00:00.000Z info   all is well \\u001b[2J\\u009b31m",
  );
});

test("what the application prints stands as it was printed", () => {
  const line = JSON.stringify({ level: "info", time: "T", msg: "output", line: "\u001b[31mred" });
  expect(describeLogLine(line)).toBe("T \u001b[31mred");
  expect(describeLogLine("{no JSON")).toBe("{no JSON");
});
