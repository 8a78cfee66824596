import { expect, test } from "vitest";
import { describeLogLine } from "./log-line.ts";

test("client data cannot forge log lines or control the terminal", () => {
  const detail = "no item a\n2026-01-01T00:00:00.000Z info   all is well \u001b[2J\u009b31m";
  const line = JSON.stringify({ level: "info", time: "T", msg: "request refused", req: 7, detail });
  expect(describeLogLine(line)).toBe(
    "T info   request refused  req=7  detail=no item a\\n2026-01-01T00:00:00.000Z info   all is well \\u001b[2J\\u009b31m",
  );
});

test("prints output of the application unchanged", () => {
  const line = JSON.stringify({ level: "info", time: "T", msg: "output", line: "\u001b[31mred" });
  expect(describeLogLine(line)).toBe("T \u001b[31mred");
  expect(describeLogLine("{no JSON")).toBe("{no JSON");
});
