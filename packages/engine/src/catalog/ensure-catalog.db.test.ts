import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { findPostgresBin } from "@appdb/testkit/postgres-binaries";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PENDING_LOCK } from "../jobs/job-store.ts";
import { LONGEST_VALUE } from "../live/change-message.ts";
import { LIVE_CHANNEL } from "../live/table-watches.ts";
import type { SqlConnection, SqlPool, SqlResult } from "../ports.ts";
import { checkServer, ensureCatalog } from "./ensure-catalog.ts";
import { hasCatalog, loadCatalog } from "./load-catalog.ts";

const run = promisify(execFile);
const MIGRATIONS = readCatalogMigrations();

let database: TestDatabase;
let sql: SqlPool;

beforeEach(async () => {
  database = await createTestDatabase();
  sql = createPgPool({ dsn: database.dsn, max: 20, application_name: "catalog test" });
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
  await database.drop();
});

test("twenty concurrent starts make one catalog", async () => {
  expect(await hasCatalog(sql)).toBe(false);
  await Promise.all(Array.from({ length: 20 }, () => ensureCatalog(sql, MIGRATIONS)));
  expect(await hasCatalog(sql)).toBe(true);
  expect(await loadCatalog(sql)).toEqual({ version: 0, tables: [], views: [], functions: new Map() });
  const { rows } = await sql.query({
    text: "select count(*), (select count(*) from appdb.state) from appdb.migrations",
  });
  expect(rows).toEqual([[String(MIGRATIONS.length), "1"]]);
});

test("a newer database is refused with both versions and the command to type", async () => {
  await ensureCatalog(sql, MIGRATIONS);
  await sql.query({ text: "insert into appdb.migrations (id, breaking, product_version) values (900, true, '9.1.0')" });
  await expect(ensureCatalog(sql, MIGRATIONS)).rejects.toMatchObject({
    code: "catalog_too_new",
    message: expect.stringContaining("9.1.0"),
    hint: expect.stringContaining("pip install"),
  });
});

test("a newer compatible format is accepted", async () => {
  await ensureCatalog(sql, MIGRATIONS);
  await sql.query({
    text: "insert into appdb.migrations (id, breaking, product_version) values (900, false, '0.9.0')",
  });
  await ensureCatalog(sql, MIGRATIONS);
  expect((await loadCatalog(sql)).version).toBe(0);
});

test("a failed upgrade names its step and leaves the database usable", async () => {
  const [first, last] = [MIGRATIONS.slice(0, -2), MIGRATIONS.at(-1)];
  await ensureCatalog(sql, first);
  const broken = {
    number: 900,
    name: "0900_broken.sql",
    is_breaking: true,
    sql: "alter table appdb.nowhere add column n int",
  };
  await expect(ensureCatalog(sql, [...MIGRATIONS, broken])).rejects.toMatchObject({
    code: "upgrade_failed",
    message: expect.stringMatching(/^Step 900 .*appdb\.nowhere.*does not exist\. Nothing was changed\.$/),
    hint: expect.stringContaining("docs/upgrades.md"),
  });
  await ensureCatalog(sql, first);
  const { rows } = await sql.query({ text: "select max(id)::text from appdb.migrations" });
  expect(rows).toEqual([[String(first.at(-1)?.number)]]);
  await ensureCatalog(sql, MIGRATIONS);
  expect((await sql.query({ text: "select max(id)::text from appdb.migrations" })).rows).toEqual([
    [String(last?.number)],
  ]);
});

test("the functions of the catalog use the numbers and names of the code", async () => {
  await ensureCatalog(sql, MIGRATIONS);
  const { rows } = await sql.query({
    text: "select prosrc from pg_proc where oid in ('appdb.mark_pending'::regproc, 'appdb.tell_live'::regproc) order by proname",
  });
  const [markPending, tellLive] = rows.map(([text]) => text);
  expect(markPending).toContain(`pg_advisory_xact_lock_shared(${PENDING_LOCK},`);
  expect(tellLive?.match(/pg_notify\('(\w+)'/g)).toEqual(Array(2).fill(`pg_notify('${LIVE_CHANNEL}'`));
  expect(tellLive).toContain(`octet_length(r.%1$I::text) > ${LONGEST_VALUE} then`);
});

test("the catalog's schema equals schema.sql (`npx vitest -u` updates it)", async () => {
  await ensureCatalog(sql, MIGRATIONS);
  const dump = await run(join(findPostgresBin(), "pg_dump"), [
    "--schema-only",
    "--schema=appdb",
    "--no-owner",
    "-d",
    database.dsn,
  ]);
  // pg_dump adds settings and restriction keys. Objects of vector come with the extension and are not in the dump.
  const text = dump.stdout
    .split("\n")
    .filter((line) => !/^(--|SET |SELECT pg_catalog|\\)/.test(line))
    .join("\n")
    .replace(/\n{3,}/g, "\n\n");
  await expect(text.trimStart()).toMatchFileSnapshot("./schema.sql");
});

/** A fake server with this answer to the question for its version and extensions. */
function server(answer: readonly (string | null)[]): SqlConnection {
  return { query: async (): Promise<SqlResult> => ({ rows: [answer], row_count: 1 }) };
}

test("refuses a server that is too old, lacks pgvector or is not UTF-8", async () => {
  await checkServer(sql);
  await expect(checkServer(server(["170004", "17.4", "t", "UTF8"]))).rejects.toMatchObject({
    code: "postgres_unsupported",
    message: expect.stringContaining("PostgreSQL 17.4"),
  });
  await expect(checkServer(server(["180001", "18.1", "f", "UTF8"]))).rejects.toMatchObject({
    code: "postgres_unsupported",
    message: expect.stringContaining("pgvector"),
  });
  await expect(checkServer(server(["180001", "18.1", "t", "LATIN1"]))).rejects.toMatchObject({
    code: "postgres_unsupported",
    message: expect.stringContaining("LATIN1"),
  });
});
