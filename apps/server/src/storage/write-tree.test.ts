import {
  lstatSync,
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
import type { TreeEntry } from "@appdb/contract/control/project-tree";
import { createDiskBlobs } from "@appdb/system/blobs/disk-blobs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { digestOf } from "../testing/tar.ts";
import { removeReadOnly } from "./materialize-tree.ts";
import { isWritten, writeTree } from "./write-tree.ts";

let home: string;
let folder: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-tree-"));
  folder = mkdtempSync(join(home, "tree-"));
});
afterEach(async () => {
  await removeReadOnly(folder);
  rmSync(home, { recursive: true, force: true });
});

const store = () => createDiskBlobs(join(home, "blobs"));
async function keep(text: string): Promise<string> {
  await store().put("acme", digestOf(text), [Buffer.from(text)]);
  return digestOf(text);
}
const file = async (path: string, text: string, more: Partial<TreeEntry> = {}): Promise<TreeEntry> => ({
  path,
  size: Buffer.byteLength(text),
  is_executable: false,
  link: null,
  chunks: text === "" ? [] : [await keep(text)],
  ...more,
});
const link = (path: string, to: string): TreeEntry => ({ path, size: 0, is_executable: false, chunks: [], link: to });
const write = (entries: readonly TreeEntry[], signal = new AbortController().signal) =>
  writeTree(store(), "acme", entries, folder, signal);
const mode = (path: string) => lstatSync(join(folder, path)).mode & 0o777;

test("a tree is written exactly, and read-only", async () => {
  const entries = [
    await file("app.py", "import lib.deep.part"),
    await file("lib/deep/part.py", "x = 1"),
    await file("lib/empty.py", ""),
    await file("run.sh", "#!/bin/sh", { is_executable: true }),
    link("lib/same.py", "deep/part.py"),
    link("all", "lib"),
  ];
  await write(entries);
  expect(readFileSync(join(folder, "lib/same.py"), "utf8")).toBe("x = 1");
  expect(readdirSync(join(folder, "all")).sort()).toEqual(["deep", "empty.py", "same.py"]);
  expect([mode("app.py"), mode("run.sh"), mode("lib"), mode("lib/deep"), mode(".")]).toEqual([
    0o444, 0o555, 0o555, 0o555, 0o555,
  ]);
  expect(await isWritten(entries, folder)).toBe(true);
});

test.each<[string, () => Promise<TreeEntry[]>]>([
  ["a path out of it", async () => [await file("../evil", "x")]],
  ["a path out of it from within", async () => [await file("a/../../evil", "x")]],
  ["an absolute path", async () => [await file("/tmp/evil", "x")]],
  ["a link out of it", async () => [link("a", "../../etc/passwd")]],
  ["a link to an absolute path", async () => [link("a", "/etc/passwd")]],
  ["a file below a link", async () => [link("a", "b"), await file("a/evil", "x")]],
  ["a file that is a folder too", async () => [await file("a", "x"), await file("a/evil", "x")]],
  ["a path twice", async () => [await file("a", "x"), await file("a", "y")]],
])("a tree with %s is refused before the first write", async (_what, entries) => {
  await expect(write(await entries())).rejects.toMatchObject({ code: "tree_invalid" });
  expect(readdirSync(folder)).toEqual([]);
  expect(readdirSync(home).filter((name) => name !== "blobs")).toHaveLength(1);
});

test("existing files are neither followed nor overwritten", async () => {
  const outside = join(home, "outside");
  writeFileSync(outside, "kept");
  await write([link("app.py", "elsewhere")]);
  await removeReadOnly(folder);
  mkdirSync(folder);
  symlinkSync(outside, join(folder, "app.py"));
  await expect(write([await file("app.py", "evil")])).rejects.toThrow(/EEXIST|ELOOP/);
  expect(readFileSync(outside, "utf8")).toBe("kept");
});

test("a changed, cut or lost blob is detected and named", async () => {
  const entry = await file("app.py", "print(1)");
  const path = join(home, "blobs/acme", digestOf("print(1)").slice(0, 2), digestOf("print(1)"));
  for (const damage of ["print(2)", "print", "print(1) and more"]) {
    writeFileSync(path, damage);
    await expect(write([entry]), damage).rejects.toMatchObject({
      code: "blobs_missing",
      meta: { digest: digestOf("print(1)") },
    });
    rmSync(join(folder, "app.py"));
  }
  rmSync(path);
  await expect(write([entry])).rejects.toMatchObject({ code: "blobs_missing" });
});

test("an incomplete tree is detected, and an aborted write stops", async () => {
  const entries = [await file("a", "one"), await file("b", "two")];
  await write(entries);
  expect(await isWritten([...entries, await file("c", "three")], folder)).toBe(false);
  expect(await isWritten([await file("a", "longer"), ...entries.slice(1)], folder)).toBe(false);
  expect(await isWritten([link("a", "b"), ...entries.slice(1)], folder)).toBe(false);
  expect(await isWritten([], join(home, "nowhere"))).toBe(false);
  await removeReadOnly(folder);
  folder = mkdtempSync(join(home, "tree-"));
  await expect(write(entries, AbortSignal.abort(new Error("no longer wanted")))).rejects.toThrow("no longer wanted");
});
