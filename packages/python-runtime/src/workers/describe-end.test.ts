import { expect, test } from "vitest";
import { describeEnd } from "./worker-process.ts";

test("logs why a worker cannot import the application", () => {
  const importError = {
    kind: "import" as const,
    function: "app",
    type: "SyntaxError",
    message: "invalid syntax (app.py, line 3)",
    at: null,
  };
  expect(describeEnd({ was_ready: false, import_error: importError, reason: "exit code 1" })).toEqual({
    reason: "exit code 1",
    error: "SyntaxError: invalid syntax (app.py, line 3)",
  });
});
