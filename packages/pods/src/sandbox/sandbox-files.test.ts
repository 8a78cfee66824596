import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeShown } from "./sandbox-files.ts";

test("readers get the complete previous file during a rewrite", () => {
  const folder = mkdtempSync(join(tmpdir(), "shown-"));
  try {
    const path = writeShown(folder, "filter.json", "the whole text of the one before");
    const opened = openSync(path, "r");
    expect(writeShown(folder, "filter.json", "another")).toBe(path);
    expect(readFileSync(opened, "utf8")).toBe("the whole text of the one before");
    closeSync(opened);
    expect(readFileSync(path, "utf8")).toBe("another");
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(readdirSync(folder)).toEqual(["filter.json"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
