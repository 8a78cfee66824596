import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { differingFiles } from "./differing-files.ts";

const OTHER = "0".repeat(64);

test("finds the files that a tree lacks or has with other content", () => {
  const root = mkdtempSync(join(tmpdir(), "appdb-files-"));
  try {
    writeFileSync(join(root, "same.py"), "a");
    writeFileSync(join(root, "other.py"), "b");
    mkdirSync(join(root, "folder.py"));
    const same = createHash("sha256").update("a").digest("hex");
    const digests = { "same.py": same, "other.py": OTHER, "folder.py": OTHER, "gone.py": OTHER, "../same.py": same };
    const found = ["other.py", "folder.py", "gone.py", "../same.py"];
    // the second time from memory
    for (let time = 0; time < 2; time += 1) expect(differingFiles(root, digests)).toEqual(found);
    const impossible = { "same.py/x.py": OTHER, [`${"x".repeat(300)}.py`]: OTHER, "a\0.py": OTHER };
    expect(differingFiles(root, impossible)).toEqual(Object.keys(impossible));
    expect(differingFiles(null, { "same.py": same })).toEqual(["same.py"]);
    expect(differingFiles(root, null)).toEqual([]);
  } finally {
    rmSync(root, { recursive: true });
  }
});
