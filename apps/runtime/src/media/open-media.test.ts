import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localMediaPlace } from "@appdb/contract/media-place";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openMedia } from "./open-media.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-open-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const HOME = "mediafs://acme:main/home";
/** None of these tests asks the database. */
const common = { env: {}, destinations: [], sql: undefined as never, log: createSilentLog() };
const openLocal = (env: Record<string, string>) => openMedia({ ...common, place: localMediaPlace(folder, env) });
const openHosted = (parts: object) =>
  openMedia({ ...common, place: { ...localMediaPlace(folder, {}), home_address: HOME, ...parts } });

describe("a store that cannot be used is refused with the name of its setting", () => {
  test.each([
    [{ SERVICE_INPUT_MEDIA_DEST: "s3://Bucket" }, 'SERVICE_INPUT_MEDIA_DEST is "s3://Bucket"'],
    [{ SERVICE_OUTPUT_MEDIA_DEST: "./folder" }, 'SERVICE_OUTPUT_MEDIA_DEST is "./folder"'],
    [{ SERVICE_INPUT_MEDIA_DEST: HOME }, `SERVICE_INPUT_MEDIA_DEST is "${HOME}"`],
    [{ SERVICE_MEDIA_SOURCES: "s3://good, file:///etc" }, 'SERVICE_MEDIA_SOURCES has "file:///etc"'],
  ])("locally: %o", (env, text) => {
    const setting = Object.keys(env)[0] ?? "";
    expect(() => openLocal(env as never)).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringContaining(text),
        hint: expect.stringContaining(`${setting}=s3://bucket/prefix`),
      }),
    );
  });

  test.each([
    [{ input: "s3://Bucket" }, "db_input_media_dest"],
    [{ output: "x" }, "db_output_media_dest"],
    [{ sources: ["x"] }, "db_media_sources"],
  ])("hosted: %o", (parts, setting) => {
    expect(() => openHosted(parts)).toThrow(
      expect.objectContaining({ code: "config_invalid", message: expect.stringContaining(setting) }),
    );
  });
});

test("stores that can be used are accepted", async () => {
  await using _local = openLocal({
    SERVICE_INPUT_MEDIA_DEST: "s3://bucket/in/",
    SERVICE_OUTPUT_MEDIA_DEST: "file:///srv/media",
    SERVICE_MEDIA_SOURCES: "  s3://abc , gs://bucket/b/,",
  });
  await using _hosted = openHosted({ input: HOME, output: "home", sources: ["s3://abc/d"] });
});
