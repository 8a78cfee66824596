import { chmodSync, lchownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { giveFolders } from "./sandbox-folders.ts";

const POD = 234_567;
const OTHER = 234_568;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "folders-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

test.runIf(process.getuid?.() === 0)(
  "a folder is given with all that is in it, and nothing by a link that a pod made",
  () => {
    const data = join(folder, "data");
    const kept = join(folder, "kept");
    mkdirSync(join(data, "inner"), { recursive: true });
    mkdirSync(kept);
    writeFileSync(join(data, "inner", "file"), "");
    symlinkSync(kept, join(data, "inner", "link"));
    giveFolders([{ path: data, mode: "write" }], POD);
    expect(["", "inner", "inner/file"].map((name) => statSync(join(data, name)).uid)).toEqual([POD, POD, POD]);
    expect(statSync(kept).uid).toBe(0);

    chmodSync(kept, 0o700);
    symlinkSync(kept, join(data, "log"));
    lchownSync(join(data, "log"), POD, POD);
    for (const mode of ["write", "read", "code"] as const)
      expect(() => giveFolders([{ path: join(data, "log", "new"), mode }], OTHER)).toThrow(
        `${join(data, "log")} is a link to ${kept} that another user made`,
      );
    expect(statSync(kept)).toMatchObject({ uid: 0, mode: 0o40700, nlink: 2 });

    // what one pod of a user keeps private, another one of the same user's reads as it is
    chmodSync(data, 0o700);
    giveFolders([{ path: data, mode: "read" }], POD);
    expect(statSync(data).mode).toBe(0o40700);
  },
);
