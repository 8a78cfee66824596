import { randomBytes } from "node:crypto";
import { createPgPool } from "@appdb/adapters/postgres/pg-pool";
import { inject } from "vitest";
import "./postgres-global-setup.ts";

export interface TestDatabase {
  readonly dsn: string;
  readonly name: string;
  /** Ends whatever is connected and removes the database. */
  drop(): Promise<void>;
}

/** Makes an empty database with a random name on the run's PostgreSQL, set up as the product sets up its own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject("postgres_dsn");
  const name = `test_${randomBytes(6).toString("hex")}`;
  await onServer(
    server,
    `create database ${name} template template0 encoding 'UTF8' locale_provider builtin builtin_locale 'PG_UNICODE_FAST' locale 'C' strategy file_copy`,
  );
  return {
    dsn: server.replace("postgresql:///postgres?", `postgresql:///${name}?`),
    name,
    drop: () => onServer(server, `drop database if exists ${name} with (force)`),
  };
}

async function onServer(dsn: string, text: string): Promise<void> {
  await using pool = createPgPool({ dsn, max: 1, application_name: "testkit" });
  await pool.query({ text });
}
