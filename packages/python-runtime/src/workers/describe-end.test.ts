import { expect, test } from "vitest";
import { describeEnd } from "./worker-process.ts";

test("a worker that cannot import the application is logged with the reason", () => {
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
