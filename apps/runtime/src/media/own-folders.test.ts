import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { emptyScratch, mediaFolders, openOwnFolders, removeLeftovers } from "./own-folders.ts";

const DEAD = "d".repeat(24);

let root: string;
let folders: ReturnType<typeof mediaFolders>;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "appdb-own-"));
  folders = mediaFolders({ folder: root });
  for (const folder of [...Object.values(folders), join(folders.home, ".drafts"), join(folders.home, "ab")])
    mkdirSync(folder);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Files of an owner wherever one has some, and their paths. */
function fill(owner: string): string[] {
  for (const folder of [join(folders.uploads, owner), join(folders.scratch, owner, "sub")])
    mkdirSync(folder, { recursive: true });
  const files = [
    join(folders.uploads, owner, `upload-${owner}-1`),
    join(folders.scratch, owner, "sub", "made.png"),
    join(folders.cache, `upload-${owner}-1`),
    join(folders.cache, `.draft-${owner}-1`),
    join(folders.home, ".drafts", `${owner}-1`),
  ];
  for (const file of files) writeFileSync(file, "content");
  return files;
}

test("files of killed processes go at once, and those of living ones stay", async () => {
  await using own = openOwnFolders(folders);
  await using other = openOwnFolders(folders);
  const kept = [...fill(own.owner), ...fill(other.owner)];
  // the socket of a killed process answers as a file does
  writeFileSync(join(folders.uploads, `${DEAD}.live`), "");
  const gone = fill(DEAD);
  const lasting = [join(folders.cache, "a".repeat(64)), join(folders.home, "ab", "object.png")];
  for (const file of lasting) writeFileSync(file, "content");
  await removeLeftovers(folders);
  expect([...kept, ...lasting].filter((file) => !existsSync(file))).toEqual([]);
  expect(gone.filter((file) => existsSync(file))).toEqual([]);
  expect(readdirSync(folders.uploads).filter((name) => name.startsWith(DEAD))).toEqual([]);
  await removeLeftovers(folders);
  expect(kept.filter((file) => !existsSync(file))).toEqual([]);
});

test("a process that ends leaves nothing", async () => {
  const own = openOwnFolders(folders);
  writeFileSync(join(own.uploads, "a"), "content");
  await own[Symbol.asyncDispose]();
  expect([readdirSync(folders.uploads), readdirSync(folders.scratch)]).toEqual([[], []]);
});

test("processes that start while leftovers are removed keep their files", async () => {
  for (let round = 0; round < 20; round += 1) {
    const removing = removeLeftovers(folders);
    const own = openOwnFolders(folders);
    const files = fill(own.owner);
    await Promise.all([removing, removeLeftovers(folders)]);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    for (const file of files) rmSync(file);
    await own[Symbol.asyncDispose]();
  }
});

test("no link of a function is followed", async () => {
  const secret = join(root, "secret");
  mkdirSync(secret);
  writeFileSync(join(secret, "file"), "kept");
  symlinkSync(secret, join(folders.scratch, DEAD));
  await using own = openOwnFolders(folders);
  symlinkSync(secret, join(own.scratch, "link"));
  await removeLeftovers(folders);
  await emptyScratch(folders.scratch);
  expect(readFileSync(join(secret, "file"), "utf8")).toBe("kept");
  expect(readdirSync(folders.scratch)).toEqual([own.owner]);
  expect(readdirSync(own.scratch)).toEqual([]);
});
