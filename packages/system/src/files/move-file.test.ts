import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { moveFile } from "./move-file.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-move-"));
  writeFileSync(join(folder, "new"), "new");
  writeFileSync(join(folder, "file"), "old");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Refuses `times` times, as Windows does while another program has the file open. */
function refusing(times: number, code = "EPERM") {
  let tries = 0;
  const rename = (from: string, to: string) => {
    tries += 1;
    if (tries <= times) throw Object.assign(new Error(`${code}: operation not permitted, rename`), { code });
    renameSync(from, to);
  };
  return { rename, tries: () => tries };
}

function move(rename: (from: string, to: string) => void, hasHeldFiles = true) {
  moveFile(join(folder, "new"), join(folder, "file"), { rename, has_held_files: hasHeldFiles, patience_ms: 300 });
  return readFileSync(join(folder, "file"), "utf8");
}

test("replaces a file", () => {
  moveFile(join(folder, "new"), join(folder, "file"));
  expect(readFileSync(join(folder, "file"), "utf8")).toBe("new");
});

test.each(["EPERM", "EACCES", "EBUSY"])("retries while the file is held (%s)", (code) => {
  expect(move(refusing(3, code).rename)).toBe("new");
});

test("gives up after its timeout", () => {
  expect(() => move(refusing(1_000).rename)).toThrow(expect.objectContaining({ code: "EPERM" }));
});

test("tries once for other errors and where open files can be moved", () => {
  const [elsewhere, missing] = [refusing(1), refusing(1, "ENOENT")];
  expect(() => move(elsewhere.rename, false)).toThrow(expect.objectContaining({ code: "EPERM" }));
  expect(() => move(missing.rename)).toThrow(expect.objectContaining({ code: "ENOENT" }));
  expect([elsewhere.tries(), missing.tries()]).toEqual([1, 1]);
});
