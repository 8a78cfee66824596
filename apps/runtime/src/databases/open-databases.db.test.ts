import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { JOBS_CHANNEL } from "@appdb/engine/catalog/load-catalog";
import { withClient } from "@appdb/postgres/cluster/database-admin";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { OpenDatabases } from "./open-databases.ts";

const MANY = 20;
const made: TestDatabase[] = [];
let now = 0;
let databases: OpenDatabases;
beforeAll(async () => {
  made.push(...(await Promise.all(Array.from({ length: MANY }, () => createTestDatabase()))));
});
afterAll(async () => {
  await Promise.all(made.map((database) => database.drop()));
});
beforeEach(() => {
  const dsnOf = new Map(made.map(({ dsn, name }) => [name, dsn]));
  const postgres: Pick<PostgresProvider, "dsn" | "ensureDatabase" | "hasDatabase"> = {
    dsn: (name) => dsnOf.get(name) ?? "",
    ensureDatabase: async () => undefined,
    hasDatabase: async (name) => dsnOf.has(name),
  };
  databases = new OpenDatabases({
    postgres: postgres as PostgresProvider,
    migrations: readCatalogMigrations(),
    clock: { now: () => now },
    log: createSilentLog(),
    owner: "test",
    application_name: "parked",
    refuseNew: (name) => new Error(`No new ${name}.`),
    createRunner: () => {
      throw new Error("No job of this test runs functions.");
    },
    query_limits: DEFAULT_LIMITS,
  });
});
afterEach(() => databases[Symbol.asyncDispose]());

const first = () => made[0]?.name ?? "";
const countListeners = async () =>
  await withClient(made[0]?.dsn ?? "", async (client) => {
    const text = `select datname from pg_stat_activity where application_name = 'parked' and query ilike 'listen%${JOBS_CHANNEL}%'`;
    return (await client.query<{ datname: string }>(text)).rows.map(({ datname }) => datname);
  });

test("a refused name opens only a database that exists", async () => {
  await expect(databases.open("con")).rejects.toThrow("No new con.");
  expect((await databases.open(first())).name).toBe(first());
});

test("parks the least recently used databases beyond a limit", async () => {
  for (const { name } of made) {
    now += 1;
    await databases.open(name);
  }
  await eventually(async () => expect(await countListeners()).toHaveLength(MANY));
  await databases.parkIdle(1_000_000, () => true);
  const left = made.slice(-16).map(({ name }) => name);
  await eventually(async () => expect((await countListeners()).sort()).toEqual(left.sort()));
});

test("parks an idle database and wakes it when opened", async () => {
  const { sql } = await databases.open(first());
  now += 100;
  await databases.parkIdle(10, () => true);
  await eventually(async () => expect(await countListeners()).toEqual([]));
  expect((await sql.query({ text: "select 1" })).rows).toEqual([["1"]]);
  await databases.open(first());
  await eventually(async () => expect(await countListeners()).toEqual([first()]));
});

test("keeps a database awake that is held, has a job or must not park", async () => {
  const { hold, sql } = await databases.open(first());
  const parked = async (may = true) => {
    now += 100;
    await databases.parkIdle(10, () => may);
    return (await countListeners()).length === 0;
  };
  await eventually(async () => expect(await countListeners()).toEqual([first()]));
  const held = hold();
  expect(await parked()).toBe(false);
  held[Symbol.dispose]();
  expect(await parked(false)).toBe(false);
  await sql.query({
    text: `insert into appdb.jobs (kind, table_id, column_ids, table_name, incarnation, state, owner, lease_until)
      select 'close_pending', 1, '{}', 't', incarnation, 'running', 'another', now() + interval '1 hour' from appdb.state`,
  });
  expect(await parked()).toBe(false);
  await sql.query({ text: "delete from appdb.jobs" });
  await eventually(async () => expect(await parked()).toBe(true));
});

test("a database whose connections are all in use counts as busy, and its number is not awaited", async () => {
  const { sql } = await databases.open(first());
  const ending = new AbortController();
  const ended = new Promise<void>((resolve) => ending.signal.addEventListener("abort", () => resolve()));
  // more users than connections
  const users = Array.from({ length: 8 }, () => sql.withConnection(async () => await ended));
  await expect(databases.countFills()).resolves.toBe(1);
  ending.abort();
  await Promise.all(users);
  await expect(databases.countFills()).resolves.toBe(0);
});
