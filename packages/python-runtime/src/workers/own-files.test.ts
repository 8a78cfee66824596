import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { nameOwnFiles } from "./own-files.ts";

test("the files of an ended worker are removed, those of others stay, and no link is followed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "appdb-own-"));
  try {
    const [scratch, elsewhere] = [join(folder, "scratch"), join(folder, "elsewhere")];
    for (const made of [scratch, elsewhere]) mkdirSync(made);
    writeFileSync(join(elsewhere, "kept"), "");
    const [ended, living] = [nameOwnFiles(scratch), nameOwnFiles(scratch)];
    for (const { env } of [ended, living]) {
      mkdirSync(join(scratch, `${env.APPDB_SCRATCH_NAME}parts`, "deep"), { recursive: true });
      writeFileSync(join(scratch, `${env.APPDB_SCRATCH_NAME}film.mp4`), "");
    }
    symlinkSync(elsewhere, join(scratch, `${ended.env.APPDB_SCRATCH_NAME}link`));
    ended.removeLater(0);
    await eventually(() => expect(readdirSync(scratch)).toHaveLength(2));
    expect(readdirSync(scratch).every((name) => name.startsWith(living.env.APPDB_SCRATCH_NAME ?? "-"))).toBe(true);
    expect(existsSync(join(elsewhere, "kept"))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a worker without a folder for files gets no variables", () => {
  const own = nameOwnFiles(undefined);
  own.removeLater(0);
  expect(own.env).toEqual({});
});
