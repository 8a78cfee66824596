import { printReference } from "@appdb/contract/media";
import { aColumn, aManifest, aTable, aUuid7Key } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collectMedia, removeUnused } from "./collect-media.ts";
import { MediaNames } from "./media-names.ts";
import { MediaObjects } from "./media-objects.ts";

const HOUR_MS = 3_600_000;

let tested: TestCatalog;
let names: MediaNames;
let removed: string[];

const media = {
  async remove(_store: string, keys: readonly string[]): Promise<void> {
    removed.push(...keys);
  },
};

beforeEach(async () => {
  tested = await openTestCatalog();
  names = new MediaNames(tested.sql, "home");
  removed = [];
  const columns = [aUuid7Key(), aColumn("picture", "image", { nullable: true })];
  await tested.apply(aManifest({ tables: [aTable("photos", columns)] }));
});

afterEach(async () => {
  await tested[Symbol.asyncDispose]();
});

const keyOf = (digit: string): string => `${digit}${digit}/${digit.repeat(64)}.jpg`;

/** Names an object that was given `ageMs` ago. */
async function put(name: string | null, digit: string, bytes: number, ageMs = 0): Promise<void> {
  const key = keyOf(digit);
  await new MediaObjects(tested.sql).record({ store: "home", key, bytes });
  if (name !== null) await names.give({ name, key, type: "image/jpeg" }, false);
  await tested.sql.query({
    text: "update appdb.media_objects set put_at = now() - make_interval(secs => $2) where key = $1",
    values: [key, String(ageMs / 1_000)],
  });
}

const list = async (given: Partial<Parameters<MediaNames["list"]>[0]> = {}) => {
  const { items, next } = await names.list({
    name: "",
    is_deep: false,
    objects: false,
    after: "",
    limit: 100,
    ...given,
  });
  return {
    entries: items.map(({ name, is_folder: isFolder, files, bytes }) => [isFolder ? `${name}/` : name, files, bytes]),
    next,
  };
};

test("a list has files and folders in the order of their bytes, page by page", async () => {
  await put("b.jpg", "1", 10);
  await put("a/1.jpg", "1", 10);
  await put("a/2.jpg", "2", 20);
  await put("a/deep/3.jpg", "3", 30);
  await put("a.jpg", "2", 20);
  await put("Ö/x.jpg", "3", 30);
  expect((await list()).entries).toEqual([
    ["a.jpg", 1, 20],
    ["a/", 3, 60],
    ["b.jpg", 1, 10],
    ["Ö/", 1, 30],
  ]);
  expect((await list({ name: "a" })).entries).toEqual([
    ["a/1.jpg", 1, 10],
    ["a/2.jpg", 1, 20],
    ["a/deep/", 1, 30],
  ]);
  expect((await list({ name: "a", is_deep: true })).entries).toHaveLength(3);
  expect((await list({ name: "a.jpg" })).entries).toEqual([["a.jpg", 1, 20]]);
  const pages: unknown[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const page: Awaited<ReturnType<typeof list>> = await list({ is_deep: true, limit: 2, after });
    pages.push(...page.entries.map(([name]) => name));
    after = page.next;
  }
  expect(pages).toEqual(["a.jpg", "a/1.jpg", "a/2.jpg", "a/deep/3.jpg", "b.jpg", "Ö/x.jpg"]);
});

test("usage counts names, and equal content once", async () => {
  await put("a/1.jpg", "1", 10);
  await put("b.jpg", "1", 10);
  await put(null, "2", 20);
  expect(await names.usage("")).toEqual({ files: 2, bytes: 20 });
  expect(await names.usage("a")).toEqual({ files: 1, bytes: 10 });
  expect(await names.stored()).toMatchObject({ objects: 2 });
  expect((await list({ objects: true, is_deep: true })).entries).toEqual([
    [keyOf("1"), 1, 10],
    [keyOf("2"), 1, 20],
  ]);
});

test("a name gets other content, or is left alone if it must be new", async () => {
  await put("a.jpg", "1", 10);
  await put(null, "2", 20);
  expect(await names.give({ name: "a.jpg", key: keyOf("2"), type: "image/jpeg" }, true)).toBe(false);
  expect(await names.find(["a.jpg", "none"])).toEqual([
    { name: "a.jpg", key: keyOf("1"), bytes: 10, type: "image/jpeg" },
  ]);
  expect(await names.give({ name: "a.jpg", key: keyOf("2"), type: "image/png" }, false)).toBe(true);
  expect(await names.find(["a.jpg"])).toEqual([{ name: "a.jpg", key: keyOf("2"), bytes: 20, type: "image/png" }]);
  expect(await names.findContent("1".repeat(64))).toEqual({ key: keyOf("1"), bytes: 10 });
  expect(await names.findContent("3".repeat(64))).toBeUndefined();
});

test("names are removed one by one and by folder, never a folder with a similar name", async () => {
  for (const name of ["a", "a/1", "a/b/2", "ab", "a%"]) await put(name, "1", 10);
  expect((await names.remove(["ab", "none"], undefined)).map(({ name }) => name)).toEqual(["ab"]);
  expect((await names.remove([], "a")).map(({ name }) => name).sort()).toEqual(["a", "a/1", "a/b/2"]);
  expect((await list()).entries).toEqual([["a%", 1, 10]]);
  expect(await names.remove([], "")).toHaveLength(1);
});

test("a named object is not collected, and is after its name is gone", async () => {
  await put("a.jpg", "1", 10, 2 * HOUR_MS);
  expect(await collectMedia(tested.sql, media, HOUR_MS)).toBe(0);
  await names.remove(["a.jpg"], undefined);
  expect(await collectMedia(tested.sql, media, HOUR_MS)).toBe(1);
  expect(removed).toEqual([keyOf("1")]);
});

test("an object is removed by hand only if nothing refers to it", async () => {
  await put("a.jpg", "1", 10, 2 * HOUR_MS);
  await put(null, "2", 20, 2 * HOUR_MS);
  await put(null, "3", 30);
  await put(null, "4", 40, 2 * HOUR_MS);
  await tested.sql.query({
    text: "insert into photos (id, picture) values (uuidv7(), $1)",
    values: [printReference({ store: "home", key: keyOf("2") })],
  });
  const remove = (digit: string) => removeUnused(tested.sql, media, { store: "home", key: keyOf(digit) });
  expect(await remove("1")).toEqual({ reason: "name", name: "a.jpg" });
  expect(await remove("2")).toEqual({ reason: "row", table: "photos", column: "picture" });
  expect(await remove("3")).toEqual({ reason: "recent" });
  expect(await remove("4")).toBeUndefined();
  expect(removed).toEqual([keyOf("4")]);
});

test("an object of a background job is not removed by hand", async () => {
  await put(null, "1", 10, 2 * HOUR_MS);
  const form = JSON.stringify({ fields: [], files: [["picture", printReference({ store: "home", key: keyOf("1") })]] });
  await tested.sql.query({
    text: `insert into appdb.background (id, folder, service, route, body, search, most_attempts, expires_s, incarnation, form, state)
      values (uuidv7(), 'main', 's', 'POST /a', '', '', 1, 60, uuidv7(), $1, 'running')`,
    values: [form],
  });
  const remove = () => removeUnused(tested.sql, media, { store: "home", key: keyOf("1") });
  expect([await remove(), removed]).toEqual([{ reason: "jobs" }, []]);
  await tested.sql.query({ text: "update appdb.background set state = 'done', form = null" });
  expect([await remove(), removed]).toEqual([undefined, [keyOf("1")]]);
});

test("a cell that PostgreSQL refuses as JSON ends neither a removal nor a collection", async () => {
  for (const digit of ["1", "2", "3"]) await put(null, digit, 10, 2 * HOUR_MS);
  const named = { store: "home", key: keyOf("1"), name: `"key":"${keyOf("2")}"` };
  const broken = String.raw`{"store":"home","key":"${keyOf("3")}","mode":"a\u0000b"}`;
  for (const cell of [printReference(named), broken]) {
    await tested.sql.query({ text: "insert into photos (id, picture) values (uuidv7(), $1)", values: [cell] });
  }
  const remove = (digit: string) => removeUnused(tested.sql, media, { store: "home", key: keyOf(digit) });
  expect([await remove("1"), await remove("3")]).toEqual(
    Array(2).fill({ reason: "row", table: "photos", column: "picture" }),
  );
  expect(await collectMedia(tested.sql, media, HOUR_MS)).toBe(1);
  expect(removed).toEqual([keyOf("2")]);
});
