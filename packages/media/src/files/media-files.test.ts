import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { printReference } from "@appdb/contract/media";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDiskStore } from "../stores/disk-store.ts";
import { FileCache } from "./file-cache.ts";
import { LocalMediaFiles } from "./media-files.ts";
import { MediaSources } from "./media-sources.ts";

let folder: string;
/** The stores that were opened, by name. */
let opened: string[];
let now: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-files-"));
  opened = [];
  now = Date.now();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Files of a database whose input is s3://given; a folder stands for each store. */
function openFiles(): LocalMediaFiles {
  const below = (...names: string[]) => {
    const path = join(folder, ...names);
    mkdirSync(path, { recursive: true });
    return path;
  };
  return new LocalMediaFiles({
    openStore: async (name) => {
      opened.push(name);
      const store = openDiskStore(below("stores", encodeURIComponent(name)));
      return { ...store, address: name, pathOf: () => undefined };
    },
    nameOf: (destination) => destination,
    own_uri: "mediafs://main/home",
    findOwn: async () => undefined,
    own_stores: ["s3://given"],
    hasObjects: async (name) => name === "s3://earlier",
    input: "s3://given",
    output: "home",
    sources: new MediaSources(["s3://given"], (store) => `SOURCES=${store}`),
    cache: new FileCache({ folder: below("cache"), owner: "test", max_bytes: 1_000_000, now: () => now }),
    uploads_folder: below("uploads"),
    lent_folder: below("cache"),
    scratch_folder: below("scratch"),
    made_bytes: 1_000_000,
    whileWritable: (pieces) => pieces,
    downloads: {
      max_bytes: 1_000,
      run: async () => {
        throw new Error("not called");
      },
      within: (_signal, work) => work(() => undefined),
    },
    tokens: () => undefined,
    printAddress: (base, token) => `${base}/${token}`,
    record: async () => undefined,
  });
}

describe("a given address", () => {
  test("in a store of the database is read", async () => {
    const files = openFiles();
    mkdirSync(join(folder, "stores", encodeURIComponent("s3://given"), "a"), { recursive: true });
    writeFileSync(join(folder, "stores", encodeURIComponent("s3://given"), "a", "b.txt"), "content");
    const located = JSON.parse(await files.locate(printReference({ url: "s3://given/a/b.txt" })));
    expect(readFileSync(located.path, "utf8")).toBe("content");
    expect((await files.open(printReference({ url: "s3://given/a/b.txt" }))).bytes).toBe(7);
  });

  test.each(["s3://other/a.png", "gs://given/a.png", "wasbs://given@attacker.blob.core.windows.net/a.png"])(
    "in another store is never opened, although its row was stored before: %s",
    async (url) => {
      const files = openFiles();
      const cell = printReference({ url });
      const refusal = { code: "media_source_not_allowed", hint: expect.stringContaining("SOURCES=") };
      expect(() => files.requireSource(cell)).toThrow(expect.objectContaining(refusal));
      await expect(files.locate(cell)).rejects.toMatchObject(refusal);
      await expect(files.open(cell)).rejects.toMatchObject(refusal);
      expect(opened).toEqual([]);
    },
  );

  test("is read again after a minute, when its object has changed", async () => {
    const files = openFiles();
    const cell = printReference({ url: "s3://given/a.txt" });
    const object = join(folder, "stores", encodeURIComponent("s3://given"), "a.txt");
    const read = async () => {
      const file = await files.open(cell);
      const pieces = [];
      for await (const piece of await file.read(0, file.bytes)) pieces.push(piece);
      return { text: Buffer.concat(pieces).toString(), etag: file.etag, is_fixed: file.is_fixed };
    };
    mkdirSync(join(object, ".."), { recursive: true });
    writeFileSync(object, "one");
    const first = await read();
    writeFileSync(object, "two");
    expect(await read()).toEqual(first);
    now += 61_000;
    const second = await read();
    expect(second).toMatchObject({ text: "two", is_fixed: false });
    expect(second.etag).not.toBe(first.etag);
    rmSync(object);
    now += 61_000;
    await expect(read()).rejects.toMatchObject({ code: "media_not_found" });
  });

  test("whose object has too many bytes is refused", async () => {
    const files = openFiles();
    const object = join(folder, "stores", encodeURIComponent("s3://given"), "large.bin");
    mkdirSync(join(object, ".."), { recursive: true });
    writeFileSync(object, Buffer.alloc(1_001));
    await expect(files.locate(printReference({ url: "s3://given/large.bin" }))).rejects.toMatchObject({
      code: "media_too_large",
    });
  });

  test("over HTTP and of a running upload needs no store", () => {
    const files = openFiles();
    for (const url of ["https://host/a.png", "http://host/a.png", "file:///tmp/a"]) {
      expect(() => files.requireSource(printReference({ url }))).not.toThrow();
    }
  });
});

describe("a reference", () => {
  const key = `00/${"0".repeat(64)}.txt`;

  test.each(["home", "s3://given", "s3://earlier"])("to a stored file of the database is read: %s", async (store) => {
    const files = openFiles();
    mkdirSync(join(folder, "stores", encodeURIComponent(store), "00"), { recursive: true });
    writeFileSync(join(folder, "stores", encodeURIComponent(store), key), "content");
    expect((await files.open(printReference({ store, key }))).bytes).toBe(7);
    const located = JSON.parse(await files.locate(printReference({ store, key })));
    expect(readFileSync(located.path, "utf8")).toBe("content");
  });

  test.each([
    ["s3://other", key],
    ["file:///etc", key],
    ["mediafs://acme:main/home", key],
    ["home", "aa/x"],
    ["home", `../../${key}`],
  ])("to a file that the database did not store opens no store: %s %s", async (store, name) => {
    const files = openFiles();
    const cell = printReference({ store, key: name });
    await expect(files.open(cell)).rejects.toMatchObject({ code: "media_not_found" });
    await expect(files.locate(cell)).rejects.toMatchObject({ code: "media_not_found" });
    expect(opened).toEqual([]);
  });
});

test.each([{}, { path: 7 }, { path: null }])("a result that names no file is refused: %j", async (made) => {
  await expect(openFiles().store(JSON.stringify(made), { kind: "image" })).rejects.toMatchObject({
    code: "media_invalid",
  });
});
