import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { tryLock } from "./numbered-lock.ts";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return { ...fs, writeFileSync: vi.fn(fs.writeFileSync) };
});

test("a lock on a full disk is refused with the next step", () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-lock-"));
  vi.mocked(writeFileSync).mockImplementationOnce(() => {
    throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  });
  const refusal = {
    code: "disk_full",
    message: `The disk of ${folder} is full, so the lock file cannot be written.`,
    hint: "Free space on that disk and try again.",
  };
  expect(() => tryLock(folder, "lock.")).toThrow(expect.objectContaining(refusal));
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});
