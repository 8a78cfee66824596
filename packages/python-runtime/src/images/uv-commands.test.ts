import { expect, test } from "vitest";
import { explainUv } from "./uv-commands.ts";

const SAID = [
  "Using CPython 3.12.8",
  "Resolved 3 packages in 2ms",
  "error: No solution found when resolving dependencies",
  "  cause: Because nosuch was not found in the package registry",
  "  ╰─▶ hint: is it spelled right?",
].join("\n");

test("reduces uv's output to one sentence from its first error", () => {
  expect(explainUv(SAID)).toBe(
    "No solution found when resolving dependencies: Because nosuch was not found in the package registry hint: is it spelled right?",
  );
  expect(explainUv("Installed 2 packages in 1ms\n + a==1")).toBe("");
});
