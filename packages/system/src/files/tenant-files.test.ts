import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { giveTree, inTenantFolder, openToOthers, readTenantFile, refuseTenantLinks } from "./tenant-files.ts";

const POD = 234_567;
let folder: string;
let kept: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "tenant-files-")));
  kept = join(folder, "kept");
  mkdirSync(kept, { mode: 0o700 });
  writeFileSync(join(kept, "secret"), "secret");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe.runIf(process.platform === "linux")("files of tenants", () => {
  test("a folder that is a link is not entered", async () => {
    symlinkSync(kept, join(folder, "log"));
    expect(await inTenantFolder(join(folder, "log"), async (path) => readdirSync(path))).toBeUndefined();
    expect(await inTenantFolder(kept, async (path) => readdirSync(path))).toEqual(["secret"]);
  });

  test("the folder that was opened stays the same when a link takes its name", async () => {
    const log = join(folder, "log");
    mkdirSync(log);
    const seen = await inTenantFolder(log, async (path) => {
      rmSync(log, { recursive: true });
      symlinkSync(kept, log);
      return readdirSync(path);
    });
    expect(seen).toEqual([]);
  });

  test("a file is read up to its bound, and never through a link or from a pipe", () => {
    const note = join(folder, "note");
    writeFileSync(note, "123456");
    expect(readTenantFile(note, 4)).toBe("1234");
    rmSync(note);
    symlinkSync(join(kept, "secret"), note);
    expect(readTenantFile(note, 32)).toBeUndefined();
    expect(readTenantFile(kept, 32)).toBeUndefined();
    expect(readTenantFile(join(folder, "missing"), 32)).toBeUndefined();
  });

  test("a path that is written to leads through links of the system alone", () => {
    symlinkSync(kept, join(folder, "own"));
    if (process.getuid?.() === 0) return;
    expect(() => refuseTenantLinks(join(folder, "own", "a"), true)).toThrow("is a link to");
    expect(() => refuseTenantLinks(join(folder, "own", "a"), false)).not.toThrow();
  });
});

describe.runIf(process.getuid?.() === 0)("files of tenants, given by root", () => {
  test("a tree is given with its contents, and nothing behind its links", () => {
    const data = join(folder, "data");
    mkdirSync(join(data, "inner"), { recursive: true });
    writeFileSync(join(data, "inner", "file"), "");
    symlinkSync(join(kept, "secret"), join(data, "inner", "link"));
    giveTree(data, POD);
    const owners = ["", "inner", "inner/file", "inner/link"].map((name) => lstatSync(join(data, name)).uid);
    expect(owners).toEqual([POD, POD, POD, POD]);
    expect([kept, join(kept, "secret")].map((path) => statSync(path).uid)).toEqual([0, 0]);
  });

  test("a folder that is missing is made and given", () => {
    giveTree(join(folder, "a", "b"), POD);
    expect(statSync(join(folder, "a")).uid).toBe(0);
    expect(statSync(join(folder, "a", "b"))).toMatchObject({ uid: POD, mode: 0o40700 });
  });

  test("a folder below one that its user owns is not given", () => {
    const data = join(folder, "data");
    giveTree(data, POD);
    expect(() => giveTree(join(data, "log"), POD)).toThrow("a folder above it belongs to the user that gets it");
  });

  test("a link in the last part is not given, whoever made it", () => {
    symlinkSync(kept, join(folder, "scratch"));
    expect(() => giveTree(join(folder, "scratch"), POD)).toThrow(`it is a link to ${kept}`);
    expect(statSync(kept).uid).toBe(0);
  });

  test("a link of another user on the way is refused for reading and for writing", () => {
    symlinkSync(kept, join(folder, "log"));
    lchownSync(join(folder, "log"), POD, POD);
    const said = `${join(folder, "log")} is a link to ${kept} that another user made`;
    expect(() => giveTree(join(folder, "log", "new"), POD + 1)).toThrow(said);
    expect(() => openToOthers(join(folder, "log", "new"), POD + 1)).toThrow(said);
    expect(readdirSync(kept)).toEqual(["secret"]);
  });

  test("a link of the system is followed where no other user can replace it", () => {
    symlinkSync("kept", join(folder, "system"));
    giveTree(join(folder, "system", "new"), POD);
    expect(statSync(join(kept, "new")).uid).toBe(POD);
    chmodSync(folder, 0o777);
    expect(() => giveTree(join(folder, "system", "new"), POD)).toThrow("in a folder that another user can write");
  });

  test("a tree that is deeper than its bound is refused", () => {
    const data = join(folder, "data");
    mkdirSync(join(data, ..."d".repeat(300)), { recursive: true });
    expect(() => giveTree(data, POD)).toThrow("256 levels deep");
  });

  test("a folder is opened to others unless it is the user's own", () => {
    openToOthers(kept, POD);
    expect(statSync(kept).mode).toBe(0o40705);
    chmodSync(kept, 0o700);
    openToOthers(kept, 0);
    expect(statSync(kept).mode).toBe(0o40700);
  });
});
