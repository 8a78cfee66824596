import { chmodSync, chownSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nestTooDeep } from "@appdb/testkit/deep-folder";
import { expect, test } from "vitest";
import { folderUse } from "./folder-size.ts";
import { removeFolder } from "./remove-folder.ts";

const NOBODY = 65_534;

test.runIf(process.platform === "linux")("a folder without permissions counts as infinite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-closed-"));
  // root can read everything, so another user measures
  const isRoot = process.geteuid?.() === 0;
  try {
    mkdirSync(join(folder, "closed"), { mode: 0 });
    if (isRoot) for (const path of [folder, join(folder, "closed")]) chownSync(path, NOBODY, NOBODY);
    if (isRoot) process.seteuid?.(NOBODY);
    expect(await folderUse([folder])).toMatchObject({ bytes: Number.POSITIVE_INFINITY });
  } finally {
    if (isRoot) process.seteuid?.(0);
    chmodSync(join(folder, "closed"), 0o700);
    await removeFolder(folder);
  }
});

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
