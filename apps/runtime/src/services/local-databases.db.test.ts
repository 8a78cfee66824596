import { ensureCatalog } from "@appdb/engine/catalog/ensure-catalog";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { readCatalogMigrations } from "@appdb/postgres/migrations/read-migrations";
import { createTestDatabase } from "@appdb/testkit/test-database";
import { expect, onTestFinished, test } from "vitest";
import { listLocalDatabases } from "./local-databases.ts";

/** The last migration of version 0.8.0. */
const LAST_OLD = 10;
const TABLE = `insert into appdb.tables (folder, name, model, primary_key, has_default_idxs, identity)
  values ('', 'docs', 'Docs', '{id}', false, 'id')`;

const OBJECTS = `insert into appdb.media_objects (store, key, bytes, put_at)
  values ('home', 'aa/1', 300, now()), ('home', 'aa/2', 500, now()), ('s3://bucket', 'aa/1', 300, now())`;

const VIEWS = `with t as (insert into appdb.tables (folder, name, version, model, primary_key, has_default_idxs, identity, rows_of)
    select folder, 'words', version, model, primary_key, has_default_idxs, identity, '{}' from appdb.tables returning id)
  insert into appdb.views (folder, name, table_id, model, definition) select 'public', 'low', id, 'app:Low', '{}' from t`;

test("counts the tables and files of databases that this version has not opened yet", async () => {
  const migrations = readCatalogMigrations();
  const [empty, old, own] = [await createTestDatabase(), await createTestDatabase(), await createTestDatabase()];
  const dsns = new Map([empty, old, own].map(({ dsn, name }) => [name, dsn]));
  onTestFinished(async () => {
    for (const { drop } of [empty, old, own]) await drop();
  });
  for (const [database, known, project] of [
    [old, migrations.filter(({ number }) => number <= LAST_OLD), ""],
    [own, migrations, "update appdb.tables set project = '/shop'"],
  ] as const) {
    await using sql = createPgPool({ dsn: database.dsn, max: 1, application_name: "a test" });
    await ensureCatalog(sql, known);
    await sql.query({ text: TABLE });
    if (project === "") continue;
    await sql.query({ text: project });
    await sql.query({ text: OBJECTS });
    await sql.query({ text: VIEWS });
  }
  const postgres = {
    dsn: (name: string) => dsns.get(name) ?? "",
  } as unknown as PostgresProvider;
  const found = await listLocalDatabases({
    postgres,
    scratch: { listOthers: async () => [...dsns.keys()] },
    services: { list: () => [] } as never,
  });
  expect(found.map(({ media_bytes, projects, tables, views }) => ({ media_bytes, projects, tables, views }))).toEqual([
    { media_bytes: 0, tables: 0, views: 0, projects: [] },
    { media_bytes: 0, tables: 1, views: 0, projects: [] },
    { media_bytes: 800, tables: 1, views: 2, projects: ["/shop"] },
  ]);
});
