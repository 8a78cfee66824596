import { expect, test } from "vitest";
import { toStartError } from "./supervise-gateway.ts";

test("an ended gateway is reported with its status, its signal, or an unknown reason", () => {
  const ended = { errors: "", output: "" };
  const detail = (code: number | null, signal: NodeJS.Signals | null) =>
    toStartError({ ...ended, code, signal }).message;
  expect(detail(1, null)).toBe("The gateway ended with status 1.");
  expect(detail(null, "SIGKILL")).toBe("The gateway ended with signal SIGKILL.");
  expect(detail(null, null)).toBe("The gateway ended for an unknown reason.");
});
