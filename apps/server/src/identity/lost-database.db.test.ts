import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";

test.each([
  ["device/token", "device_codes", { client_id: "cli", grant_type: GRANT, device_code: "x" }],
  ["device/code", "device_codes", { client_id: "cli" }],
  ["sign-in/email", "users", { email: "ann@example.com", password: "long enough for it" }],
  ["reset-password", "verifications", { token: "x", newPassword: "long enough for it" }],
])("a connection lost during %s is reported as such", async (route, table, body) => {
  const { db } = server.deps;
  const answer = await db.transaction().execute(async (tx) => {
    await sql`lock table ${sql.table(`identity.${table}`)} in access exclusive mode`.execute(tx);
    const sent = server.send("POST", `/v1/auth/${route}`, { body });
    const kill = () =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    await expect.poll(async () => (await kill()).rows.length).toBeGreaterThan(0);
    return await sent;
  });
  expect({ status: answer.status, code: answer.json?.code }).toEqual({ status: 503, code: "database_unavailable" });
});
