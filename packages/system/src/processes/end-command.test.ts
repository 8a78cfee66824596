import { expect, test } from "vitest";
import { endCommand } from "./end-command.ts";

test("names the command of the system", () => {
  expect([endCommand(7, "linux"), endCommand(7, "win32")]).toEqual(["kill 7", "taskkill /F /PID 7"]);
});
