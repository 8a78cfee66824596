import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "@appdb/contract/version";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { type ControlMigration, controlFormat, migrate } from "./migrate.ts";
import { openControlDatabase } from "./pool.ts";
import { openPostgres } from "./postgres.ts";

const log = createSilentLog();
const FIRST = { number: 1, name: "0001_first.sql", sql: "create table control.first ()" };
const SECOND = { number: 2, name: "0002_second.sql", sql: "create table control.second ()" };

/** Runs a server's PostgreSQL with these migrations. */
async function runServer(home: string, migrations: readonly ControlMigration[]): Promise<void> {
  const config = { database: { url: undefined, pg_bin: process.env.SERVICE_PG_BIN }, runtime_base: undefined };
  await using postgres = await openPostgres(config, home, controlFormat(migrations), log);
  await using database = openControlDatabase(postgres.dsn, log);
  await migrate(database.pool, migrations, log);
}

test("copies the control plane's own PostgreSQL before a newer server migrates it", async () => {
  const home = mkdtempSync(join(tmpdir(), "appdb-control-"));
  try {
    const folder = join(home, "server", "postgres");
    await runServer(home, [FIRST]);
    expect(readdirSync(folder)).toEqual(["18"]);
    await runServer(home, [FIRST, SECOND]);
    expect(readdirSync(join(folder, "before-upgrade"))).toEqual([VERSION]);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
