import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makePrivateFolder } from "./private-folder.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "private-folder-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("creates a folder and its missing parents", () => {
  const path = join(folder, "a", "b", "c");
  makePrivateFolder(path);
  makePrivateFolder(path);
  expect(statSync(join(folder, "a")).mode & 0o777).toBe(0o700);
  expect(statSync(path).isDirectory()).toBe(true);
});

test("refuses a path that leads through a file", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => makePrivateFolder(join(folder, "file"))).toThrow("EEXIST");
  expect(() => makePrivateFolder(join(folder, "file", "home"))).toThrow("ENOTDIR");
});

test.runIf(process.platform === "linux")("returns where the system refuses a folder", () => {
  expect(() => makePrivateFolder("/proc/no-home/below")).toThrow("ENOENT");
});
