import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withClient } from "./database-admin.ts";

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await database.drop();
});

test("reports database_unavailable when the server goes away during a statement", async () => {
  const lost = withClient(database.dsn, async (client) => {
    await client.query("select pg_terminate_backend(pg_backend_pid())").catch(() => undefined);
    await client.query("select 1");
  });
  await expect(lost).rejects.toMatchObject({ code: "database_unavailable" });
});

test("passes on errors of PostgreSQL", async () => {
  const refused = withClient(database.dsn, (client) => client.query("select * from nothing_of_this_name"));
  await expect(refused).rejects.toMatchObject({ code: "42P01" });
});

test("passes on programming errors during a connection", async () => {
  const mistaken = withClient(database.dsn, () => Promise.reject(new TypeError("of ours")));
  await expect(mistaken).rejects.toThrow(TypeError);
});
