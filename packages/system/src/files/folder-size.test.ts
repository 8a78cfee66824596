import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderUse } from "./folder-size.ts";
import { removeFolder } from "./remove-folder.ts";

test.runIf(process.platform === "linux")("a folder too deep for a path counts as infinite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-deep-"));
  try {
    const nest =
      "const fs = require('fs'); for (let at = 0; at < 40; at++) { fs.mkdirSync(process.argv[1]); process.chdir(process.argv[1]); }";
    execFileSync(process.execPath, ["-e", nest, "d".repeat(200)], { cwd: folder });
    expect(await folderUse([folder])).toEqual({
      bytes: Number.POSITIVE_INFINITY,
      files: Number.POSITIVE_INFINITY,
    });
  } finally {
    await removeFolder(folder);
  }
});
