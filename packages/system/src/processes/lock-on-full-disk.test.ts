import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tryLock } from "./numbered-lock.ts";

test("a lock on a full disk is refused with the next step", () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-lock-"));
  try {
    const write = () => {
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    };
    const refusal = {
      code: "disk_full",
      message: `The disk of ${folder} is full, so the lock file cannot be written.`,
      hint: "Free space on that disk and try again.",
    };
    expect(() => tryLock(folder, "lock.", write)).toThrow(expect.objectContaining(refusal));
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
