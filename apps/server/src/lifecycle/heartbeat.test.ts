import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { startHeartbeat } from "./heartbeat.ts";

test("the number grows while the event loop runs, and is removed at the end", async () => {
  const folder = mkdtempSync(join(tmpdir(), "beats-"));
  const path = join(folder, "beat");
  const read = () => Number(readFileSync(path, "utf8"));
  const beating = startHeartbeat(path, createSilentLog(), 5);
  expect(read()).toBe(1);
  await expect.poll(read).toBeGreaterThan(3);
  const before = read();
  const until = performance.now() + 50;
  while (performance.now() < until);
  expect(read()).toBe(before);
  await expect.poll(read).toBeGreaterThan(before);
  beating[Symbol.dispose]();
  expect(readFileSync(path, "utf8")).toBe("");
  rmSync(folder, { recursive: true });
});

test("a heartbeat that cannot be written is logged and does not stop the server", () => {
  const log = createSilentLog();
  startHeartbeat(join(tmpdir(), "no-such-folder-of-a-keeper", "beat"), log)[Symbol.dispose]();
  expect(log.lines).toMatchObject([{ level: "warn", message: expect.stringContaining("heartbeat cannot be written") }]);
});
