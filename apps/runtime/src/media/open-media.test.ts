import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localMediaPlace } from "@appdb/contract/media-place";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openMedia } from "./open-media.ts";
import { readClientId } from "./own-folders.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-open-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const KEY = `5f/${"5f".repeat(32)}.png`;
const HOME = "mediafs://acme:main/home";
/** None of these tests asks the database. */
const common = { env: {}, hosted: undefined, destinations: [], sql: undefined as never, log: createSilentLog() };
const openLocal = (env: Record<string, string>) => openMedia({ ...common, place: localMediaPlace(folder, env) });
const openHosted = (parts: object) =>
  openMedia({ ...common, place: { ...localMediaPlace(folder, {}), home_address: HOME, ...parts } });

describe("a store that cannot be used is refused with the name of its setting", () => {
  test.each([
    [{ SERVICE_INPUT_MEDIA_DEST: "s3://Bucket" }, 'SERVICE_INPUT_MEDIA_DEST is "s3://Bucket"'],
    [{ SERVICE_OUTPUT_MEDIA_DEST: "./folder" }, 'SERVICE_OUTPUT_MEDIA_DEST is "./folder"'],
    [{ SERVICE_INPUT_MEDIA_DEST: "mediafs://main/home" }, 'SERVICE_INPUT_MEDIA_DEST is "mediafs://main/home"'],
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
    [{ output: "/srv/media" }, "db_output_media_dest"],
    [{ output: "x" }, "db_output_media_dest"],
    [{ output: "mediafs://acme:other/home" }, "db_output_media_dest"],
    [{ sources: ["x"] }, "db_media_sources"],
    [{ sources: [HOME] }, "db_media_sources"],
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
    SERVICE_MEDIA_SOURCES: "  s3://abc , gs://bucket/b/, mediafs://acme:main/home",
  });
  await using _folders = openLocal({ SERVICE_INPUT_MEDIA_DEST: folder, SERVICE_OUTPUT_MEDIA_DEST: "/srv/the media" });
  await using _hosted = openHosted({ input: HOME, output: "home", sources: ["s3://abc/d"] });
  const container = "wasbs://given@account.blob.core.windows.net";
  await using _clouds = openHosted({ input: `${container}/in`, output: "gs://bucket/out", sources: [container] });
});

test("each local database has its own folder in a hosted store, which stays", async () => {
  const read = () => readClientId(join(folder, "main"));
  const id = read();
  expect(id).toMatch(/^[0-9a-f]{12}$/);
  expect([read(), readClientId(join(folder, "other"))]).toEqual([id, expect.not.stringMatching(id)]);
  expect(readdirSync(join(folder, "main"))).toEqual(["client"]);
});

test("a hosted store is not reached without a sign-in, and the next step is named", async () => {
  // files that the database has stored there
  const sql = { query: async () => ({ rows: [[]], row_count: 1 }) } as never;
  const hosted = { url: "http://127.0.0.1:9", url_source: "SERVICE_API_URL", home: folder };
  const cell = JSON.stringify({ store: `${HOME}/local/main-0`, key: KEY });
  for (const access of [undefined, hosted]) {
    await using media = openMedia({ ...common, sql, hosted: access, place: localMediaPlace(folder, {}) });
    await expect(media.files.open(cell)).rejects.toMatchObject({
      code: "media_denied",
      hint: expect.stringContaining("cli login"),
    });
  }
  await using keyed = openMedia({
    ...common,
    sql,
    hosted: { ...hosted, api_key: "sk_x" },
    place: localMediaPlace(folder, {}),
  });
  await expect(keyed.files.open(cell)).rejects.toMatchObject({ code: "media_unavailable" });
});

test("a hosted database reads files of no other media store, whatever its application names", async () => {
  const other = "mediafs://acme:other/home";
  const place = { ...localMediaPlace(folder, {}), home_address: HOME };
  await using media = openMedia({ ...common, destinations: [other], place });
  await expect(media.files.takeOwn(`${other}/a.png`, "image")).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("of another database"),
  });
  const stored = JSON.stringify({ url: `${other}/a.png` });
  await expect(media.files.open(stored)).rejects.toMatchObject({ code: "media_source_not_allowed" });
  await expect(media.files.open(JSON.stringify({ store: other, key: KEY }))).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("the media store of another database"),
  });
});

test("a local database reads given addresses of hosted stores that it knows, and of no others", async () => {
  await using media = openLocal({ SERVICE_MEDIA_SOURCES: `${HOME}/shared` });
  expect(await media.files.takeOwn(`${HOME}/shared/größe 1.png`, "image")).toBe(undefined);
  for (const address of [`${HOME}/x.png`, `${HOME}/shared2/x.png`, "mediafs://acme:other/home/shared/x.png"]) {
    await expect(media.files.takeOwn(address, "image")).rejects.toMatchObject({
      code: "media_source_not_allowed",
      hint: expect.stringContaining(`cli media cp '${address}' copies/`),
    });
  }
  await expect(media.files.takeOwn("mediafs://other/home/x.png", "image")).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining("another database"),
  });
});
