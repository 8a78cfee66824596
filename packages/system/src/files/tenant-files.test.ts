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
import {
  chownTree,
  makeTenantFolders,
  openToOthers,
  readTenantFile,
  refuseTenantLinks,
  withTenantFolder,
} from "./tenant-files.ts";

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
  test("does not enter a folder that is a link", async () => {
    symlinkSync(kept, join(folder, "log"));
    expect(await withTenantFolder(join(folder, "log"), async (path) => readdirSync(path))).toBeUndefined();
    expect(await withTenantFolder(kept, async (path) => readdirSync(path))).toEqual(["secret"]);
  });

  test("keeps an open folder when a link takes its name", async () => {
    const log = join(folder, "log");
    mkdirSync(log);
    const seen = await withTenantFolder(log, async (path) => {
      rmSync(log, { recursive: true });
      symlinkSync(kept, log);
      return readdirSync(path);
    });
    expect(seen).toEqual([]);
  });

  test("makes missing folders and refuses a link in their place", () => {
    const media = join(folder, "media");
    mkdirSync(media);
    symlinkSync(kept, join(media, "cache"));
    makeTenantFolders(media, ["home", "home"], null);
    expect(statSync(join(media, "home")).mode & 0o777).toBe(0o700);
    expect(() => makeTenantFolders(media, ["cache"], null)).toThrow(expect.objectContaining({ code: "pod_failed" }));
    expect(readdirSync(kept)).toEqual(["secret"]);
  });

  test("reads a file up to its limit and never through links or pipes", () => {
    const note = join(folder, "note");
    writeFileSync(note, "123456");
    expect(readTenantFile(note, 4)).toBe("1234");
    rmSync(note);
    symlinkSync(join(kept, "secret"), note);
    expect(readTenantFile(note, 32)).toBeUndefined();
    expect(readTenantFile(kept, 32)).toBeUndefined();
    expect(readTenantFile(join(folder, "missing"), 32)).toBeUndefined();
  });

  test("follows only system links on a path that is written to", () => {
    symlinkSync(kept, join(folder, "own"));
    if (process.getuid?.() === 0) return;
    expect(() => refuseTenantLinks(join(folder, "own", "a"), true)).toThrow("is a link to");
    expect(() => refuseTenantLinks(join(folder, "own", "a"), false)).not.toThrow();
  });
});

describe.runIf(process.getuid?.() === 0)("files of tenants, changed by root", () => {
  test("gives a tree with its contents and no link targets", () => {
    const data = join(folder, "data");
    mkdirSync(join(data, "inner"), { recursive: true });
    writeFileSync(join(data, "inner", "file"), "");
    symlinkSync(join(kept, "secret"), join(data, "inner", "link"));
    chownTree(data, POD);
    const owners = ["", "inner", "inner/file", "inner/link"].map((name) => lstatSync(join(data, name)).uid);
    expect(owners).toEqual([POD, POD, POD, POD]);
    expect([kept, join(kept, "secret")].map((path) => statSync(path).uid)).toEqual([0, 0]);
  });

  test("creates and gives a missing folder", () => {
    chownTree(join(folder, "a", "b"), POD);
    expect(statSync(join(folder, "a")).uid).toBe(0);
    expect(statSync(join(folder, "a", "b"))).toMatchObject({ uid: POD, mode: 0o40700 });
  });

  test("does not give a folder below one that its user owns", () => {
    const data = join(folder, "data");
    chownTree(data, POD);
    expect(() => chownTree(join(data, "log"), POD)).toThrow("a folder above it belongs to the user that gets it");
  });

  test("does not give a link in the last part, regardless of its owner", () => {
    symlinkSync(kept, join(folder, "scratch"));
    expect(() => chownTree(join(folder, "scratch"), POD)).toThrow(`it is a link to ${kept}`);
    expect(statSync(kept).uid).toBe(0);
  });

  test("refuses another user's link on the way, for reading and writing", () => {
    symlinkSync(kept, join(folder, "log"));
    lchownSync(join(folder, "log"), POD, POD);
    const said = `${join(folder, "log")} is a link to ${kept} that another user made`;
    expect(() => chownTree(join(folder, "log", "new"), POD + 1)).toThrow(said);
    expect(() => openToOthers(join(folder, "log", "new"), POD + 1)).toThrow(said);
    expect(readdirSync(kept)).toEqual(["secret"]);
  });

  test("follows a system link that no other user can replace", () => {
    symlinkSync("kept", join(folder, "system"));
    chownTree(join(folder, "system", "new"), POD);
    expect(statSync(join(kept, "new")).uid).toBe(POD);
    chmodSync(folder, 0o777);
    expect(() => chownTree(join(folder, "system", "new"), POD)).toThrow("in a folder that another user can write");
  });

  test("refuses a tree that is deeper than the limit", () => {
    const data = join(folder, "data");
    mkdirSync(join(data, ..."d".repeat(300)), { recursive: true });
    expect(() => chownTree(data, POD)).toThrow("256 levels deep");
  });

  test("opens a folder to others unless the user owns it", () => {
    openToOthers(kept, POD);
    expect(statSync(kept).mode).toBe(0o40705);
    chmodSync(kept, 0o700);
    openToOthers(kept, 0);
    expect(statSync(kept).mode).toBe(0o40700);
  });
});
