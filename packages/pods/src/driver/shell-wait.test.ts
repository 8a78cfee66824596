import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { waitForChild } from "./shell-wait.ts";

function statusOf(script: string): number | null {
  return spawnSync("/bin/sh", ["-c", `${script}\n${waitForChild("child")}\nexit "$status"`]).status;
}

test("keeps the status of a child that ends during a signal trap", () => {
  // the trap runs longer than the child, so the shell reaps the child meanwhile
  const trap = "trap 'told=$(sleep 0.3; echo told)' TERM";
  expect(statusOf(`${trap}\n(sleep 0.15; exit 7) & child=$!\n(sleep 0.05; kill -TERM $$) &`)).toBe(7);
});

test.each([0, 3, 127, 143])("returns status %i of a child", (code) => {
  expect(statusOf(`(sleep 0.05; exit ${code}) & child=$!`)).toBe(code);
});

test("returns the signal status of a killed child", () => {
  expect(statusOf("sleep 60 & child=$!\nkill -KILL $child")).toBe(128 + 9);
});
