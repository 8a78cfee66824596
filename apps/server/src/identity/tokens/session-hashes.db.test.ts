import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import { migrate, readControlMigrations } from "../../database/migrate.ts";
import { type OpenControlDatabase, openControlDatabase } from "../../database/pool.ts";
import { readSessionIn } from "../principal.ts";
import { hashCredential } from "./hashed-tokens.ts";

const MIGRATIONS = readControlMigrations();
/** The migration that introduced the hashes. */
const HASHES = 27;
const LIVES = { browser_s: 2_592_000, cli_s: 7_776_000 };
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

test("a session from before the upgrade continues, and its text is removed", async () => {
  const { pool, db } = opened;
  await migrate(
    pool,
    MIGRATIONS.filter(({ number }) => number < HASHES),
    log,
  );
  await pool.query(
    "insert into identity.users (id, name, email, email_verified) values ('u', 'Ann', 'a@example.com', true)",
  );
  await pool.query(`insert into identity.sessions (id, user_id, token, client, expires_at, created_at)
    values ('s', 'u', 'a-token-of-before', 'cli', now() + interval '9 days', now() - interval '21 days')`);
  await pool.query(`insert into identity.device_codes (id, device_code, user_code, status, expires_at)
    values ('d', 'a-code-of-before', 'ABCD2345', 'pending', now() + interval '9 minutes')`);
  await migrate(pool, MIGRATIONS, log);
  const readSession = readSessionIn(db, LIVES);
  expect(await readSession(hashCredential("a-token-of-before"))).toMatchObject({ session_id: "s", client: "cli" });
  expect(await readSession("a-token-of-before")).toBeUndefined();
  const { rows } = await pool.query<{ row: string; code: string; is_old: boolean }>(`
    select s::text as row, d.device_code_hash as code, s.authenticated_at = s.created_at as is_old
    from identity.sessions s, identity.device_codes d`);
  expect(rows[0]?.row).not.toContain("a-token-of-before");
  expect(rows[0]).toMatchObject({ code: hashCredential("a-code-of-before"), is_old: true });
});
