import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStandardOutput } from "./standard-output.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-output-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("lines arrive whole and in order", async () => {
  const path = join(folder, "log");
  const descriptor = openSync(path, "w");
  const output = openStandardOutput(descriptor);
  const lines = Array.from({ length: 500 }, (_, at) => `line ${at} ${"x".repeat(at)}\n`);
  for (const line of lines) output.write(line);
  await expect.poll(() => readFileSync(path, "utf8")).toBe(lines.join(""));
  closeSync(descriptor);
});

test.runIf(process.platform === "linux").each([
  ["a closed reader", "/dev/null", "r"],
  ["a full disk", "/dev/full", "w"],
])("%s drops lines and throws nothing", async (_name, path, flags) => {
  const descriptor = openSync(path, flags);
  const output = openStandardOutput(descriptor);
  for (let at = 0; at < 3; at += 1) {
    output.write("lost\n");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  closeSync(descriptor);
});
