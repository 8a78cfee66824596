import { expect, test } from "vitest";
import { toStartError } from "./start-error.ts";

test("a gateway that has ended is said to have ended by its status, its signal, or in a way that is not known", () => {
  const ended = { errors: "", output: "" };
  const detail = (code: number | null, signal: NodeJS.Signals | null) =>
    toStartError({ ...ended, code, signal }).message;
  expect(detail(1, null)).toBe("The gateway has ended with the status 1.");
  expect(detail(null, "SIGKILL")).toBe("The gateway has ended by SIGKILL.");
  expect(detail(null, null)).toBe("The gateway has ended, and how is not known.");
});
