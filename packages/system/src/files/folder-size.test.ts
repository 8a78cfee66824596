import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nestTooDeep } from "@appdb/testkit/deep-folder";
import { expect, test } from "vitest";
import { folderUse } from "./folder-size.ts";
import { removeFolder } from "./remove-folder.ts";

test.runIf(process.platform === "linux")("a folder too deep for a path counts as infinite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-deep-"));
  try {
    nestTooDeep(folder);
    expect(await folderUse([folder])).toEqual({
      bytes: Number.POSITIVE_INFINITY,
      files: Number.POSITIVE_INFINITY,
    });
  } finally {
    await removeFolder(folder);
  }
});
