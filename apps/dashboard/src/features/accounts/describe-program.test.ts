import { expect, test } from "vitest";
import { describeProgram } from "./describe-program.ts";

test.each([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox 140 on Linux"],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0",
    "Edge 141 on Windows",
  ],
  [
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
    "Safari 18 on macOS",
  ],
  ["appdb-cli/0.8.0 linux", "appdb-cli/0.8.0 linux"],
  ["", "unknown program"],
])("%j is %s", (userAgent, program) => {
  expect(describeProgram(userAgent)).toBe(program);
});

test("an unknown program is shown as such", () => {
  expect(describeProgram(null)).toBe("unknown program");
});
