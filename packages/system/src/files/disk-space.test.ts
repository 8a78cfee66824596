import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { diskSpace, readDiskSpace } from "./disk-space.ts";

const MB = 1024 ** 2;

test.each([
  [100_000, 20_000, "enough"],
  [100_000, 1_000, "low"],
  [100_000, 100, "full"],
  [2_000, 300, "enough"],
  [2_000, 150, "low"],
])("a disk of %d MB with %d MB free is %s", (bytes, freeBytes, level) => {
  expect(diskSpace(bytes * MB, freeBytes * MB).level).toBe(level);
});

test("reads the disk of a folder, also of one that does not exist yet", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-disk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { bytes } = await readDiskSpace(folder);
  expect(bytes).toBeGreaterThan(0);
  expect((await readDiskSpace(join(folder, "a", "b"))).bytes).toBe(bytes);
});
