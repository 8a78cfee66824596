import { createHash, randomBytes } from "node:crypto";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { inject } from "vitest";
import "./postgres-global-setup.ts";

export interface TestDatabase {
  readonly dsn: string;
  readonly name: string;
  /** Ends all connections and drops the database. */
  drop(): Promise<void>;
}

/** The common content of many databases of a run: made once, and copied. */
export interface TestTemplate {
  /** The inputs that determine the content. */
  readonly made_of: string;
  /** Fills an empty database and closes all connections to it. */
  fill(dsn: string): Promise<void>;
}

/** An arbitrary number: its holder makes a template. */
const LOCK = 7_341_905_623;
const EMPTY =
  "template template0 encoding 'UTF8' locale_provider builtin builtin_locale 'PG_UNICODE_FAST' locale 'C' strategy file_copy";

/** Creates a database with a random name on the run's PostgreSQL, set up like the product's; empty without a
 *  template. */
export async function createTestDatabase(template?: TestTemplate): Promise<TestDatabase> {
  const server = inject("postgres_dsn");
  const name = `test_${randomBytes(6).toString("hex")}`;
  const from = template === undefined ? EMPTY : `template ${await ensureTemplate(server, template)} strategy file_copy`;
  await onServer(server, `create database ${name} ${from}`);
  return {
    dsn: dsnOf(server, name),
    name,
    drop: () => onServer(server, `drop database if exists ${name} with (force)`),
  };
}

/** Returns the name of its database. Concurrent processes wait for the first. */
async function ensureTemplate(server: string, { made_of: madeOf, fill }: TestTemplate): Promise<string> {
  const name = `template_${createHash("sha256").update(madeOf).digest("hex").slice(0, 12)}`;
  await using pool = createPgPool({ dsn: server, max: 1, application_name: "testkit" });
  const exists = async () =>
    (await pool.query({ text: `select from pg_database where datname = '${name}'` })).rows.length > 0;
  if (await exists()) return name;
  // One connection: the lock belongs to it, and ends with it.
  await pool.query({ text: `select pg_advisory_lock(${LOCK})` });
  if (await exists()) return name;
  await pool.query({ text: `drop database if exists ${name}_new with (force)` });
  await pool.query({ text: `create database ${name}_new ${EMPTY}` });
  await fill(dsnOf(server, `${name}_new`));
  await pool.query({ text: `alter database ${name}_new rename to ${name}` });
  return name;
}

function dsnOf(server: string, database: string): string {
  return server.replace("postgresql:///postgres?", `postgresql:///${database}?`);
}

async function onServer(dsn: string, text: string): Promise<void> {
  await using pool = createPgPool({ dsn, max: 1, application_name: "testkit" });
  await pool.query({ text });
}
