import { AppError } from "@appdb/contract/errors";
import type { SqlPool } from "@appdb/engine/ports";
import { eventually } from "@appdb/testkit/eventually";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { startTestPostgres } from "@appdb/testkit/test-postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPgPool } from "./pg-pool.ts";

let database: TestDatabase;
let pool: SqlPool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPgPool({ dsn: database.dsn, max: 3, application_name: "pg-pool test" });
});

afterAll(async () => {
  await pool[Symbol.asyncDispose]();
  await database.drop();
});

async function killVictims(): Promise<void> {
  await pool.query({
    text: "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim' and datname = $1",
    values: [database.name],
  });
}

test("returns values as PostgreSQL writes them, in UTC and ISO format", async () => {
  const result = await pool.query({
    text: "select 9223372036854775807::int8, 0.1::float8, true, null::text, '2024-05-01 12:00+02'::timestamptz, '{\"b\":1,\"a\":2.50}'::json",
  });
  expect(result.rows).toEqual([
    ["9223372036854775807", "0.1", "t", null, "2024-05-01 10:00:00+00", '{"b":1,"a":2.50}'],
  ]);
});

test("a new connection runs no function that the owner of the database planted", async () => {
  await pool.query({ text: "create schema planted" });
  await pool.query({
    text: `create function planted.set_config(text, text, boolean) returns text language plpgsql as
      $$ begin raise exception 'planted'; end $$`,
  });
  const [[name] = []] = (await pool.query({ text: "select current_database()" })).rows;
  await pool.query({ text: `alter database "${name}" set search_path = planted, pg_catalog` });
  await using other = createPgPool({ dsn: database.dsn, max: 1, application_name: "planted" });
  expect((await other.query({ text: "show timezone" })).rows).toEqual([["UTC"]]);
  await pool.query({ text: `alter database "${name}" reset search_path` });
});

test("prepares a named statement once and keeps its plan", async () => {
  await pool.withConnection(async (connection) => {
    for (const value of [1, 2, 3]) {
      const result = await connection.query({ name: "twice", text: "select $1::int8 * 2", values: [value] });
      expect(result.rows).toEqual([[String(value * 2)]]);
    }
    const prepared = await connection.query({
      text: "select count(*) from pg_prepared_statements where name = 'twice'",
    });
    expect(prepared.rows).toEqual([["1"]]);
  });
});

test("reports SQLSTATE and constraint and keeps the connection usable", async () => {
  await pool.query({ text: "create table keyed (id int8 constraint keyed_key unique)" });
  await pool.query({ text: "insert into keyed values (1)" });
  await expect(pool.query({ text: "insert into keyed values (1)" })).rejects.toMatchObject({
    name: "SqlError",
    sqlstate: "23505",
    constraint: "keyed_key",
  });
  expect((await pool.query({ text: "select 1" })).rows).toEqual([["1"]]);
});

test("a transaction that throws leaves nothing behind", async () => {
  await pool.query({ text: "create table notes (n int8)" });
  const failing = pool.transaction(async (connection) => {
    await connection.query({ text: "insert into notes values (1)" });
    throw new Error("changed my mind");
  });
  await expect(failing).rejects.toThrow("changed my mind");
  expect((await pool.query({ text: "select count(*) from notes" })).rows).toEqual([["0"]]);
});

test("a statement that was cancelled before it was sent does not run", async () => {
  const signal = AbortSignal.abort();
  const refused = pool.transaction((connection) => connection.query({ text: "select pg_sleep(600)", signal }));
  await expect(refused).rejects.toMatchObject({ name: "SqlError", sqlstate: "57014" });
});

/** The first is there already. The end of the statement ends the source. */
async function* endlessRows(): AsyncGenerator<string> {
  yield "1\ta\n";
  for (let id = 10; ; id += 1_000) {
    yield Array.from({ length: 1_000 }, (_, at) => `${id + at}\t${"x".repeat(50)}\n`).join("");
  }
}

test("copies rows in a transaction and names a refused line", async () => {
  await pool.query({ text: "create table copied (id int primary key, word text)" });
  const copy = "copy copied (id, word) from stdin";
  const count = await pool.transaction(async (connection) => {
    await connection.query({ text: "savepoint here" });
    return connection.copy(copy, ["1\tä\n2\t\\N\n", "3\tx\\ty\n"]);
  });
  expect(count).toBe(3);
  const taken = pool.transaction((connection) => connection.copy(copy, ["4\ta\n5\tb\n", "2\tc\n"]));
  await expect(taken).rejects.toMatchObject({ sqlstate: "23505", line: 3 });
  const mistyped = pool.transaction((connection) => connection.copy(copy, ["6\ta\nseven\tb\n"]));
  await expect(mistyped).rejects.toMatchObject({ sqlstate: "22P02", line: 2 });
  const gone = new Error("the source has gone");
  const broken = pool.transaction((connection) =>
    connection.copy(
      copy,
      (async function* () {
        yield "8\ta\n";
        throw gone;
      })(),
    ),
  );
  await expect(broken).rejects.toBe(gone);
  const endless = pool.transaction((connection) => connection.copy(copy, endlessRows()));
  await expect(endless).rejects.toMatchObject({ name: "SqlError", sqlstate: "23505", line: 1 });
  const { rows } = await pool.query({ text: "select id, word from copied order by id" });
  expect(rows).toEqual([
    ["1", "ä"],
    ["2", null],
    ["3", "x\ty"],
  ]);
});

test("a transaction with an ignored failure does not appear committed", async () => {
  const overlooked = pool.transaction(async (connection) => {
    await connection.query({ text: "insert into notes values (2)" });
    await connection.query({ text: "select 1/0" }).catch(() => undefined);
  });
  await expect(overlooked).rejects.toMatchObject({ name: "SqlError", sqlstate: "25P02" });
});

test("an open manual transaction does not reach the next caller", async () => {
  await using single = createPgPool({ dsn: database.dsn, max: 1, application_name: "by hand" });
  await single.withConnection(async (connection) => {
    await connection.query({ text: "begin" });
    await connection.query({ text: "insert into notes values (9)" });
  });
  expect((await single.query({ text: "select count(*) from notes where n = 9" })).rows).toEqual([["0"]]);
});

test("a connection lost during a statement gives commit_unknown", async () => {
  await using victims = createPgPool({ dsn: database.dsn, max: 1, application_name: "victim" });
  const running = victims.query({ text: "select pg_sleep(20)" });
  const outcome = expect(running).rejects.toMatchObject({ code: "commit_unknown" });
  await eventually(async () => {
    const seen = await pool.query({
      text: "select count(*) from pg_stat_activity where application_name = 'victim' and query like '%pg_sleep%'",
    });
    expect(seen.rows).toEqual([["1"]]);
  });
  await killVictims();
  await outcome;
  expect((await victims.query({ text: "select 1" })).rows).toEqual([["1"]]);
});

test("a connection lost before COMMIT means a rollback", async () => {
  await using victims = createPgPool({ dsn: database.dsn, max: 1, application_name: "victim" });
  const broken = victims.transaction(async (connection) => {
    await connection.query({ text: "insert into notes values (3)" });
    await killVictims();
    await connection.query({ text: "select pg_sleep(5)" });
  });
  await expect(broken).rejects.toMatchObject({ code: "database_unavailable" });
  expect((await pool.query({ text: "select count(*) from notes where n = 3" })).rows).toEqual([["0"]]);
});

test("an idle connection ended by the server causes no error", async () => {
  await using victims = createPgPool({ dsn: database.dsn, max: 1, application_name: "victim" });
  await victims.query({ text: "select 1" });
  await killVictims();
  await eventually(async () => expect((await victims.query({ text: "select 7" })).rows).toEqual([["7"]]));
});

test("reports database_unavailable without the server's address", async () => {
  await using nobody = createPgPool({
    dsn: "postgresql:///main?host=/tmp/appdb-no-such-folder&user=postgres",
    max: 1,
    application_name: "test",
  });
  const error = await nobody.query({ text: "select 1" }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  expect(error).toMatchObject({ code: "database_unavailable" });
  expect(String(error)).not.toContain("no-such-folder");
});

test("callers without a free connection wait", async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) => pool.query({ text: "select $1::int8, pg_sleep(0.01)", values: [i] })),
  );
  expect(results.map((result) => result.rows[0]?.[0])).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
});

test("delivers notifications and reports a gap after a reconnect", async () => {
  await using listening = createPgPool({ dsn: database.dsn, max: 1, application_name: "victim" });
  const heard: string[] = [];
  const stop = new AbortController();
  await listening.listen("News", (payload) => heard.push(payload), stop.signal);
  await pool.query({ text: `notify "News", 'first'` });
  await eventually(() => expect(heard).toEqual(["first"]));
  await killVictims();
  await eventually(() => expect(heard).toEqual(["first", ""]));
  await pool.query({ text: `notify "News", 'second'` });
  await eventually(() => expect(heard).toEqual(["first", "", "second"]));
  stop.abort();
  await eventually(async () => {
    const left = await pool.query({ text: "select count(*) from pg_stat_activity where application_name = 'victim'" });
    expect(left.rows).toEqual([["0"]]);
  });
});

test("recovers after PostgreSQL was killed and restarted", async () => {
  await using dead = await startTestPostgres();
  await using orphan = createPgPool({ dsn: dead.dsn, max: 2, application_name: "orphan" });
  await orphan.query({ text: "select 1" });
  await dead.kill();
  // a statement sent before the pool notices the end of its idle connection breaks with that connection
  await eventually(() =>
    expect(orphan.query({ text: "select 1" })).rejects.toMatchObject({ code: "database_unavailable" }),
  );
  await dead.start();
  expect((await orphan.query({ text: "select 2" })).rows).toEqual([["2"]]);
});

test.each([
  [true, 1],
  [false, 0],
])("keeps an idle connection if asked (%s)", async (isKept, count) => {
  const name = `keeper ${isKept}`;
  await using kept = createPgPool({
    dsn: database.dsn,
    max: 3,
    application_name: name,
    idle_timeout_ms: 50,
    keeps_connection: isKept,
  });
  await Promise.all([1, 2, 3].map(() => kept.query({ text: "select pg_sleep(0.05)" })));
  const open = async () =>
    Number(
      (await pool.query({ text: "select count(*) from pg_stat_activity where application_name = $1", values: [name] }))
        .rows[0]?.[0],
    );
  await eventually(async () => expect(await open()).toBe(count));
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await open()).toBe(count);
});
