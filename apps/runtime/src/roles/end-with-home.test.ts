import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { endWithHome } from "./end-with-home.ts";

let home: string;
let folder: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "pod-home-"));
  folder = join(home, "log");
  mkdirSync(folder);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function watch() {
  let ends = 0;
  const watching = endWithHome({
    folder,
    log: createSilentLog(),
    look_ms: 5,
    end: () => {
      ends += 1;
    },
  });
  return { ends: () => ends, [Symbol.dispose]: () => watching[Symbol.dispose]() };
}
const someLooks = () => new Promise((resolve) => setTimeout(resolve, 50));

test("a pod ends once when its home is gone", async () => {
  using watched = watch();
  await someLooks();
  expect(watched.ends()).toBe(0);
  rmSync(home, { recursive: true });
  await expect.poll(watched.ends).toBe(1);
  await someLooks();
  expect(watched.ends()).toBe(1);
});

test("a recreated folder counts as another home", async () => {
  using watched = watch();
  // kept so that the new folder gets another inode
  mkdirSync(join(home, "other"));
  rmSync(folder, { recursive: true });
  mkdirSync(join(home, "between"));
  mkdirSync(folder);
  await expect.poll(watched.ends).toBe(1);
});
