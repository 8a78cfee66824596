import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { Migration } from "@appdb/engine/catalog/ensure-catalog";
import type { Logger } from "@appdb/engine/ports";
import type { ClusterFormat } from "@appdb/postgres/cluster/cluster-mark";
import { readMigrations } from "@appdb/postgres/migrations/read-migrations";
import type pg from "pg";

/** Advisory lock held during migrations. Any number, but the same in all versions. */
const LOCK = 7_341_905_622;

/** A server refuses every migration that it does not know, breaking or not. */
export type ControlMigration = Omit<Migration, "is_breaking">;

/** The migrations of the control plane's database. */
export function readControlMigrations(): readonly ControlMigration[] {
  return readMigrations(["server-migrations", "../../migrations"].map((name) => join(import.meta.dirname, name)));
}

/** The format of the control plane's database with these migrations. */
export function controlFormat(migrations: readonly ControlMigration[]): ClusterFormat {
  return { newest: migrations.at(-1)?.number ?? 0, table: "control.migrations", column: "number" };
}

/**
 * Migrates the database to this version. Of several servers, one migrates and the others wait. All migrations are one
 * transaction: an older server refuses unknown migrations, so a failure must keep the old state.
 * @throws catalog_too_new if a newer server used it; upgrade_failed with the failure
 */
export async function migrate(pool: pg.Pool, migrations: readonly ControlMigration[], log: Logger): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    await client.query("select pg_advisory_lock($1)", [LOCK]);
    await client.query("create schema if not exists control");
    await client.query(
      "create table if not exists control.migrations (number integer primary key, name text not null, at timestamptz not null default now())",
    );
    const found = await client.query<{ number: number }>("select number from control.migrations");
    const done = new Set(found.rows.map((row) => row.number));
    refuseNewer(done, migrations);
    await client.query("begin");
    for (const migration of migrations) {
      if (!done.has(migration.number)) await apply(client, migration);
    }
    await client.query("commit");
    const names = migrations.filter(({ number }) => !done.has(number)).map(({ name }) => name);
    if (names.length > 0) log.info({ migrations: names }, "the database was migrated");
  } finally {
    // closing the session releases its lock and rolls back its transaction
    client.release(true);
  }
}

async function apply(client: pg.PoolClient, { number, name, sql }: ControlMigration): Promise<void> {
  await client.query("insert into control.migrations (number, name) values ($1, $2)", [number, name]);
  await client.query(sql).catch((cause: unknown) => {
    throw appError("upgrade_failed", {
      detail: `The control plane's database could not be upgraded: ${name} failed: ${cause instanceof Error ? cause.message : String(cause)}. Nothing was changed.`,
      hint: "Start the previous version again; it works as before. For other options see docs/upgrades.md",
      meta: { migration: name },
      cause,
    });
  });
}

function refuseNewer(done: ReadonlySet<number>, migrations: readonly ControlMigration[]): void {
  const known = new Set(migrations.map(({ number }) => number));
  const unknown = [...done].filter((number) => !known.has(number));
  if (unknown.length === 0) return;
  throw appError("catalog_too_new", {
    detail: `The control plane's database has migration ${Math.max(...unknown)}, which this server does not know: a newer server used it.`,
    hint: "Start the newer version of the server again.",
    meta: { migrations: unknown },
  });
}
