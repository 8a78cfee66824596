import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { findPostgresBin } from "@appdb/testkit/postgres-binaries";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import { migrate, readControlMigrations } from "./migrate.ts";
import { type OpenControlDatabase, openControlDatabase } from "./pool.ts";

const run = promisify(execFile);
const MIGRATIONS = readControlMigrations();
const log = createSilentLog();

let database: TestDatabase;
let opened: OpenControlDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
  opened = openControlDatabase(database.dsn, log);
});

afterEach(async () => {
  await opened[Symbol.asyncDispose]();
  await database.drop();
});

async function done(): Promise<number[]> {
  const { rows } = await opened.pool.query<{ number: number }>("select number from control.migrations order by number");
  return rows.map(({ number }) => number);
}

test("twelve servers that start at once create one set of tables", async () => {
  await Promise.all(Array.from({ length: 12 }, () => migrate(opened.pool, MIGRATIONS, log)));
  expect(await done()).toEqual(MIGRATIONS.map(({ number }) => number));
});

test("migration numbers are unique and consecutive", () => {
  const numbers = MIGRATIONS.map(({ number }) => number);
  expect(numbers).toEqual([...new Set(numbers)].sort((left, right) => left - right));
});

test("a failed migration is rolled back with its predecessors and reported by name", async () => {
  const first = { number: 1, name: "0001_first.sql", sql: "create table control.first ()" };
  const good = { number: 2, name: "0002_good.sql", sql: "create table control.good ()" };
  const bad = { number: 3, name: "0003_bad.sql", sql: "create table control.half (); select 1 / 0" };
  await migrate(opened.pool, [first], log);
  await expect(migrate(opened.pool, [first, good, bad], log)).rejects.toMatchObject({
    code: "upgrade_failed",
    message: expect.stringContaining("0003_bad.sql failed: division by zero"),
  });
  expect(await done()).toEqual([1]);
  const { rows } = await opened.pool.query(
    "select to_regclass('control.half') as half, to_regclass('control.good') as good",
  );
  expect(rows).toEqual([{ half: null, good: null }]);
  await migrate(opened.pool, [first, good, { ...bad, sql: "create table control.half ()" }], log);
  expect(await done()).toEqual([1, 2, 3]);
});

test("a database of a newer server is refused and unchanged", async () => {
  await migrate(opened.pool, MIGRATIONS, log);
  await opened.pool.query("insert into control.migrations (number, name) values (9001, '9001_later.sql')");
  await expect(migrate(opened.pool, MIGRATIONS, log)).rejects.toMatchObject({
    code: "catalog_too_new",
    message: expect.stringContaining("9001"),
  });
});

test("the tables match schema.sql; `npx vitest -u` updates it", async () => {
  await migrate(opened.pool, MIGRATIONS, log);
  const dump = await run(join(findPostgresBin(), "pg_dump"), [
    "--schema-only",
    "--no-owner",
    "--schema=identity",
    "--schema=control",
    "-d",
    database.dsn,
  ]);
  // pg_dump adds its own settings and restriction keys
  const text = dump.stdout
    .split("\n")
    .filter((line) => !/^(--|SET |SELECT pg_catalog|\\)/.test(line))
    .join("\n")
    .replace(/\n{3,}/g, "\n\n");
  await expect(text.trimStart()).toMatchFileSnapshot("./schema.sql");
});

test("preparations waiting in graphile-worker's tables move into the queue, and its tables are dropped", async () => {
  const before = MIGRATIONS.filter(({ name }) => name < "0038_jobs.sql");
  await migrate(opened.pool, before, log);
  await opened.pool.query(
    "create schema graphile_worker; create table graphile_worker._private_jobs (key text, payload json)",
  );
  await opened.pool.query(`insert into graphile_worker._private_jobs values
    ('prepare-image 1', '{"preparation_id":"1"}'), ('reconcile-database 2', '{}'), (null, '{}')`);
  await migrate(opened.pool, MIGRATIONS, log);
  const { rows } = await opened.pool.query("select key, name, payload, lane, lease from control.jobs");
  const key = "prepare-image 1";
  expect(rows).toEqual([{ key, name: "prepare-image", payload: { preparation_id: "1" }, lane: key, lease: null }]);
  const schemas = await opened.pool.query("select from pg_namespace where nspname = 'graphile_worker'");
  expect(schemas.rows).toEqual([]);
});
