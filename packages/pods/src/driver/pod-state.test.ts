import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exitOf, readRunNumber } from "./pod-state.ts";

test("reads a run's number up to 32 bytes and never through links", () => {
  const folder = mkdtempSync(join(tmpdir(), "run-"));
  try {
    const note = join(folder, "exit");
    expect(readRunNumber(folder, "exit")).toBeUndefined();
    writeFileSync(note, "137\n");
    expect(readRunNumber(folder, "exit")).toBe(137);
    writeFileSync(note, `${"0".repeat(5_000_000)}7\n`);
    expect(readRunNumber(folder, "exit")).toBeUndefined();
    rmSync(note);
    writeFileSync(join(folder, "other"), "0\n");
    symlinkSync(join(folder, "other"), note);
    expect(readRunNumber(folder, "exit")).toBeUndefined();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a process that the kernel ended for its file size exceeded the disk limit", () => {
  expect(exitOf(128 + 25)).toEqual({ code: null, signal: "SIGXFSZ", is_out_of_memory: false, exceeded: "disk" });
  expect(exitOf(128 + 9)).toMatchObject({ signal: "SIGKILL", exceeded: null });
});
