import { printReference, REFERENCE_END, REFERENCE_START } from "@appdb/contract/media";
import { aColumn, aManifest, aTable, aUuid7Key } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collectMedia, pruneMedia, readMediaUsage } from "./collect-media.ts";
import { MediaObjects } from "./media-objects.ts";

const GRACE_MS = 3_600_000;

let tested: TestCatalog;
/** Objects that stores hold: `<store> <key>`. */
let stored: Set<string>;
let failure: Error | undefined;

const media = {
  async remove(store: string, keys: readonly string[]): Promise<void> {
    if (failure !== undefined) throw failure;
    for (const key of keys) stored.delete(`${store} ${key}`);
  },
};

beforeEach(async () => {
  tested = await openTestCatalog();
  stored = new Set();
  failure = undefined;
  const columns = [aUuid7Key(), aColumn("key", "string"), aColumn("picture", "image", { nullable: true })];
  await tested.apply(aManifest({ tables: [aTable("photos", columns)] }));
});

afterEach(async () => {
  await tested[Symbol.asyncDispose]();
});

/** Stores an object that was last given `ageMs` ago. */
async function put(key: string, ageMs: number, store = "home"): Promise<void> {
  await new MediaObjects(tested.sql).record({ store, key, bytes: 10 });
  stored.add(`${store} ${key}`);
  await age(key, ageMs);
}

async function age(key: string, ageMs: number): Promise<void> {
  await tested.sql.query({
    text: "update appdb.media_objects set put_at = now() - make_interval(secs => $2), checked_at = null where key = $1",
    values: [key, String(ageMs / 1_000)],
  });
}

async function insert(key: string, object: string): Promise<void> {
  await tested.sql.query({
    text: "insert into photos (id, key, picture) values (uuidv7(), $1, $2)",
    values: [key, printReference({ store: "home", key: object })],
  });
}

const collect = (): Promise<number> => collectMedia(tested.sql, media, GRACE_MS);

test("an object without a row is deleted after the grace period, others stay", async () => {
  await put("aa/old", 2 * GRACE_MS);
  await put("bb/used", 2 * GRACE_MS);
  await put("cc/new", GRACE_MS / 2);
  await put("dd/else", 2 * GRACE_MS, "s3://bucket/a");
  await insert("a", "bb/used");
  expect(await collect()).toBe(2);
  expect([...stored]).toEqual(["home bb/used", "home cc/new"]);
  expect(await readMediaUsage(tested.sql)).toEqual({ bytes: 20, objects: 2 });
  expect(await collect()).toBe(0);
});

test("an object is deleted once its last row is gone", async () => {
  await put("aa/x", 2 * GRACE_MS);
  await insert("a", "aa/x");
  await insert("b", "aa/x");
  await tested.sql.query({ text: "delete from photos where key = 'a'" });
  expect(await collect()).toBe(0);
  await tested.sql.query({ text: "delete from photos where key = 'b'" });
  await age("aa/x", 2 * GRACE_MS);
  expect(await collect()).toBe(1);
});

test("an object that is given again stays, and the process that gives it waits for its deletion", async () => {
  await put("aa/x", 2 * GRACE_MS);
  const events: string[] = [];
  let given: Promise<void> | undefined;
  const slow = {
    async remove(): Promise<void> {
      // Another process gives the same file while it is being deleted.
      given = new MediaObjects(tested.sql)
        .record({ store: "home", key: "aa/x", bytes: 10 })
        .then(() => void events.push("recorded"));
      await new Promise((resolve) => setImmediate(resolve));
      events.push("deleted");
    },
  };
  expect(await collectMedia(tested.sql, slow, GRACE_MS)).toBe(1);
  await given;
  expect(events).toEqual(["deleted", "recorded"]);
  expect(await readMediaUsage(tested.sql)).toEqual({ bytes: 10, objects: 1 });
  expect(await collect()).toBe(0);
});

test("a store that does not answer keeps the record, and the next collection deletes the object", async () => {
  await put("aa/x", 2 * GRACE_MS);
  failure = new Error("the store is away");
  await expect(collect()).rejects.toBe(failure);
  expect(await readMediaUsage(tested.sql)).toMatchObject({ objects: 1 });
  failure = undefined;
  expect(await collect()).toBe(1);
});

test("nothing is deleted while a job may restore earlier values", async () => {
  await put("aa/x", 2 * GRACE_MS);
  await tested.sql.query({
    text: `insert into appdb.jobs (kind, table_id, column_ids, table_name, column_names, state, incarnation)
      select 'recompute', id, '{}', name, '{}', 'queued', gen_random_uuid() from appdb.tables`,
  });
  expect(await collect()).toBe(0);
  expect(stored.size).toBe(1);
});

test("files of unfinished background jobs and of results stay", async () => {
  const [given, made] = ["a", "b"].map((digit) => `${digit}${digit}/${digit.repeat(64)}.png`);
  for (const key of [given, made]) await put(String(key), 2 * GRACE_MS);
  const cell = (key: string | undefined) => printReference({ store: "home", key: String(key) });
  await tested.sql.query({
    text: `insert into appdb.background (id, folder, service, route, body, search, most_attempts, expires_s, incarnation, form, result, state)
      values (uuidv7(), 'main', 's', 'POST /a', '', '', 1, 60, uuidv7(), $1, null, 'queued'),
        (uuidv7(), 'main', 's', 'POST /a', '', '', 1, 60, uuidv7(), null, $2, 'done')`,
    values: [
      JSON.stringify({ fields: [], files: [["picture", cell(given)]] }),
      `{"thumb":${REFERENCE_START + cell(made) + REFERENCE_END}}`,
    ],
  });
  expect(await collect()).toBe(0);
  await tested.sql.query({ text: "update appdb.background set state = 'done', result = ''" });
  for (const key of [given, made]) await age(String(key), 2 * GRACE_MS);
  expect(await collect()).toBe(2);
});

test("two collections at once delete each object once", async () => {
  for (let at = 0; at < 30; at++) await put(`aa/${at}`, 2 * GRACE_MS);
  const counts = await Promise.all([collect(), collect()]);
  expect(counts[0] + counts[1]).toBe(30);
  expect(stored.size).toBe(0);
});

test("all processes sign addresses by one secret", async () => {
  const secrets = await Promise.all([1, 2, 3].map(() => new MediaObjects(tested.sql).readSecret()));
  expect(secrets[0]).toHaveLength(32);
  expect(new Set(secrets.map((secret) => secret.toString("hex"))).size).toBe(1);
});

test("a prune frees all objects without a row at once, except those of the last hour", async () => {
  await put("aa/old", 30 * 86_400_000);
  await put("bb/yesterday", 86_400_000);
  await put("cc/used", 86_400_000);
  await put("dd/recent", 1_800_000);
  await put("ee/elsewhere", 86_400_000, "s3://bucket");
  await insert("row", "cc/used");
  // a collection has just looked at them
  await tested.sql.query({ text: "update appdb.media_objects set checked_at = now()" });
  expect(await pruneMedia(tested.sql, media, "home", true)).toEqual({ objects: 2, bytes: 20 });
  expect(stored.size).toBe(5);
  expect(await pruneMedia(tested.sql, media, "home", false)).toEqual({ objects: 2, bytes: 20 });
  expect([...stored].sort()).toEqual(["home cc/used", "home dd/recent", "s3://bucket ee/elsewhere"]);
  expect(await pruneMedia(tested.sql, media, "home", false)).toEqual({ objects: 0, bytes: 0 });
});

test("a prune that the store refuses keeps its records, and can be repeated", async () => {
  await put("aa/old", 86_400_000);
  failure = new Error("the store is away");
  await expect(pruneMedia(tested.sql, media, "home", false)).rejects.toThrow("the store is away");
  failure = undefined;
  expect(await pruneMedia(tested.sql, media, "home", false)).toEqual({ objects: 1, bytes: 10 });
});
