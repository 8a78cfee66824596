import { appError } from "@appdb/contract/errors";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ensureCatalog } from "../catalog/ensure-catalog.ts";
import type { SqlPool } from "../ports.ts";
import { TableWatches } from "./table-watches.ts";

let database: TestDatabase;
let sql: SqlPool;
let watches: TableWatches;
let changes: number;
let gaps: number;

const NOTES = { id: 7, folder: "public", name: "notes" };

beforeEach(async () => {
  database = await createTestDatabase();
  sql = createPgPool({ dsn: database.dsn, max: 4, application_name: "watches test" });
  await ensureCatalog(sql, readCatalogMigrations());
  await run("create table notes (n int8)");
  changes = 0;
  gaps = 0;
  watches = open(sql, 20);
});

afterEach(async () => {
  await watches[Symbol.asyncDispose]();
  await sql[Symbol.asyncDispose]();
  await database.drop();
});

function open(pool: SqlPool, renewMs?: number): TableWatches {
  return new TableWatches({
    sql: pool,
    log: createSilentLog(),
    ...(renewMs === undefined ? {} : { renew_ms: renewMs }),
    onChange: () => {
      changes += 1;
    },
    onGap: () => {
      gaps += 1;
    },
  });
}

const run = async (text: string) => (await sql.query({ text })).rows;
const triggers = async () =>
  (await run("select distinct tgenabled from pg_trigger where tgrelid = 'notes'::regclass")).flat();

test("a watch is renewed before it expires for others", async () => {
  await watches.use(NOTES, ["n"]);
  await run("update appdb.live_watches set until = now() - interval '1 hour'");
  await eventually(async () => expect(await run("select until > now() from appdb.live_watches")).toEqual([["t"]]));
  expect([await triggers(), gaps]).toEqual([["O"], 0]);
});

test("an expired watch is recreated, and missed changes are found", async () => {
  await watches.use(NOTES, ["n"]);
  await run("delete from appdb.live_watches");
  await eventually(() => expect(gaps).toBeGreaterThan(0));
  await run("insert into notes values (1)");
  await eventually(() => expect(changes).toBeGreaterThan(0));
});

test("an unused watch ends", async () => {
  await watches.use(NOTES, ["n"]);
  watches.leave(NOTES);
  await eventually(async () => expect(await triggers()).toEqual(["D"]));
  expect(await run("select count(*) from appdb.live_watches")).toEqual([["0"]]);
});

/** Triggers the maintenance of watches, as after a broken connection, and waits for it. */
async function lookAround(): Promise<void> {
  const before = gaps;
  await run("select pg_notify('appdb_live', '')");
  await eventually(() => expect(gaps).toBeGreaterThan(before));
}

test("a table that is locked when its last reader leaves is released later", async () => {
  await using slow = open(sql);
  await slow.use(NOTES, ["n"]);
  slow.leave(NOTES);
  await sql.transaction(async (writer) => {
    await writer.query({ text: "insert into notes values (1)" });
    await lookAround();
    // The next round starts when the first has ended.
    await lookAround();
    expect(await triggers()).toEqual(["O"]);
  });
  await lookAround();
  await eventually(async () => expect(await triggers()).toEqual(["D"]));
  expect(await run("select count(*) from appdb.live_watches")).toEqual([["0"]]);
});

test("possibly missed commits are found soon, also if that connection breaks", async () => {
  let fails = false;
  const breaking: SqlPool = {
    query: (statement) => {
      if (!fails) return sql.query(statement);
      fails = false;
      return Promise.reject(appError("database_unavailable", { detail: "PostgreSQL does not accept connections." }));
    },
    withConnection: (work) => sql.withConnection(work),
    transaction: (work, settings) => sql.transaction(work, settings),
    listen: (channel, onNotify, signal) => sql.listen(channel, onNotify, signal),
    [Symbol.asyncDispose]: () => sql[Symbol.asyncDispose](),
  };
  await using slow = open(breaking);
  await slow.use(NOTES, ["n"]);
  fails = true;
  await sql.query({ text: "select pg_notify('appdb_live', '')" });
  await eventually(() => expect(gaps).toBe(1));
  expect(fails).toBe(false);
});
