import { expect, test } from "vitest";
import { parseLogLine } from "./log-line.ts";

const FORMER = "2026-01-01T00:00:00.000Z";
const AT = "2026-01-02T03:04:05.000Z";

test.each([
  [
    { level: "info", time: AT, pid: 7, msg: "the pod listens", version: "1.0.0" },
    "info",
    'the pod listens {"version":"1.0.0"}',
  ],
  [{ level: 40, time: AT, msg: "it heals" }, "warn", "it heals"],
  [{ level: "info", time: AT, msg: "output", line: '{"mine": 1}' }, "info", '{"mine": 1}'],
])("prints a pod's line with its message and further members: %j", (entry, level, line) => {
  expect(parseLogLine(JSON.stringify(entry), FORMER)).toEqual({ at: AT, level, line });
});

test.each(["Traceback (most recent call last):", '{"looks": "like JSON"}', '{"cut'])(
  "keeps foreign output unchanged with the previous line's time: %s",
  (text) => expect(parseLogLine(text, FORMER)).toEqual({ at: FORMER, level: "info", line: text }),
);
