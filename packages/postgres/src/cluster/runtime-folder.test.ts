import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nameRuntimeFolder, openRuntimeFolder } from "./runtime-folder.ts";

let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "appdb-run-"));
});

afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

test("gives each home one short folder of its own at any depth", () => {
  const home = `/home/me/${"a very long folder/".repeat(20)}`;
  const folder = nameRuntimeFolder(home, base);
  expect(folder).toBe(nameRuntimeFolder(home, base));
  expect(folder).not.toBe(nameRuntimeFolder(`${home}2`, base));
  expect(Buffer.byteLength(`${folder}/.s.PGSQL.5432`)).toBeLessThanOrEqual(103);
});

test("skips a base that is too long or missing", () => {
  const long = join(base, "x".repeat(90));
  mkdirSync(long);
  expect(nameRuntimeFolder("/home", long)).not.toContain(long);
  expect(nameRuntimeFolder("/home", join(base, "none"))).not.toContain(base);
});

// Windows has neither file modes nor unix sockets
test.skipIf(process.platform === "win32")("refuses a folder open to others, a file and a link", () => {
  const folder = join(base, "folder");
  openRuntimeFolder(folder);
  openRuntimeFolder(folder);
  expect(existsSync(folder)).toBe(true);
  chmodSync(folder, 0o755);
  expect(() => openRuntimeFolder(folder)).toThrow(expect.objectContaining({ code: "postgres_failed" }));
  const link = join(base, "link");
  mkdirSync(join(base, "elsewhere"), { mode: 0o700 });
  symlinkSync(join(base, "elsewhere"), link);
  expect(() => openRuntimeFolder(link)).toThrow(expect.objectContaining({ code: "postgres_failed" }));
});
