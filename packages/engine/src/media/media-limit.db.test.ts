import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SqlPool } from "../ports.ts";
import { collectMedia } from "./collect-media.ts";
import { MEDIA_LIMIT, MediaObjects, readLimitedUse } from "./media-objects.ts";

const URI = "mediafs://acme:main/home";

let tested: TestCatalog;
const pools: (SqlPool & AsyncDisposable)[] = [];

beforeEach(async () => {
  tested = await openTestCatalog();
});
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool[Symbol.asyncDispose]();
  await tested[Symbol.asyncDispose]();
});

/** Sets the limit, and opens a client that knows it. */
async function limited(bytes: number): Promise<SqlPool> {
  const { rows } = await tested.sql.query({ text: "select current_database()" });
  await tested.sql.query({ text: `alter database "${rows[0]?.[0]}" set ${MEDIA_LIMIT} = '${bytes}'` });
  const pool = createPgPool({
    dsn: tested.dsn,
    max: 8,
    statement_timeout_ms: 30_000,
    application_name: "test",
    log: createSilentLog(),
  });
  pools.push(pool);
  return pool;
}

const object = (at: number, bytes: number, store = "home") => ({ store, key: `k${at}`, bytes });
const outcomes = async (records: readonly Promise<void>[]) =>
  (await Promise.allSettled(records)).map(({ status }) => status === "fulfilled");

test("an object beyond the limit is refused before it is stored, with the limit and the used bytes", async () => {
  const objects = new MediaObjects(await limited(1024 ** 3), { uri: URI });
  await objects.record(object(1, 0.75 * 1024 ** 3));
  await expect(objects.record(object(2, 300_000_000))).rejects.toMatchObject({
    code: "media_store_full",
    status: 507,
    message:
      "A file has 300000000 bytes, and the media store mediafs://acme:main/home has room for 268435456: 0.75 GB are used by 1 file, and media_gb is 1.",
    hint: "Nothing was stored. See what uses it: cli media du mediafs://acme:main/home. Raise media_gb in the database's entry (cli db update cloud://acme:main), or remove files and then free their space: cli media prune mediafs://acme:main/home",
    meta: { used_bytes: 805_306_368, limit_bytes: 1_073_741_824 },
  });
  await objects.record(object(3, 268_435_456));
  expect(await readLimitedUse(tested.sql)).toBeUndefined();
  expect(await tested.rows("select key from appdb.media_objects order by key")).toEqual([["k1"], ["k3"]]);
});

test("processes that record at the same time never exceed the limit", async () => {
  const sql = await limited(1_000);
  const processes = [1, 2, 3, 4].map(() => new MediaObjects(sql));
  const records = Array.from({ length: 200 }, (_, at) => processes[at % 4]?.record(object(at, 10)) ?? Promise.reject());
  expect((await outcomes(records)).filter(Boolean)).toHaveLength(100);
  expect(await readLimitedUse(sql)).toEqual({ objects: 100, bytes: 1_000, limit_bytes: 1_000 });
  expect(await tested.rows("select sum(bytes)::text from appdb.media_objects")).toEqual([["1000"]]);
});

test("of objects that are recorded together, those that fit are stored", async () => {
  const objects = new MediaObjects(await limited(100));
  expect(await outcomes([object(1, 60), object(2, 60), object(3, 40)].map((one) => objects.record(one)))).toEqual([
    true,
    false,
    true,
  ]);
});

test("equal content, other stores, reads and collection work in a store that is over its limit", async () => {
  await new MediaObjects(tested.sql).record(object(1, 5_000));
  const sql = await limited(1_000);
  const objects = new MediaObjects(sql);
  expect(await readLimitedUse(sql)).toMatchObject({ objects: 1, bytes: 5_000 });
  await expect(objects.record(object(2, 1))).rejects.toMatchObject({ code: "media_store_full" });
  await objects.record(object(1, 5_000));
  await objects.record(object(3, 10_000, "s3://bucket"));
  await tested.sql.query({ text: "update appdb.media_objects set put_at = now() - interval '9 days'" });
  expect(await collectMedia(sql, { remove: async () => undefined }, 86_400_000)).toBe(2);
  expect(await readLimitedUse(sql)).toEqual({ objects: 0, bytes: 0, limit_bytes: 1_000 });
  await objects.record(object(2, 1));
});

test("a record that is rolled back counts nothing", async () => {
  const sql = await limited(1_000);
  const text = "insert into appdb.media_objects (store, key, bytes, put_at) values ('home', 'k', 900, now())";
  await expect(
    sql.transaction(async (connection) => {
      await connection.query({ text });
      throw new Error("the process ends");
    }),
  ).rejects.toThrow("the process ends");
  expect(await readLimitedUse(sql)).toMatchObject({ objects: 0, bytes: 0 });
});
