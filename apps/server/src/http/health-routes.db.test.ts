import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HealthProblem } from "../health/problems.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";

const TOKEN = "a-token-of-the-operator-that-is-long-enough";
const ENDED: HealthProblem = {
  code: "certificate_ended",
  what: "The certificates of 1 hosts of the gateway have expired.",
};
const DOWN: HealthProblem = { code: "gateway_down", what: "The gateway does not answer. No service is reachable." };

let server: TestServer;
let other: TestServer;
beforeAll(async () => {
  const env = { SERVICE_DISK_FLOOR_GB: "0" };
  server = await openServer({ env: { ...env, SERVICE_METRICS_TOKEN: TOKEN } });
  // without a token
  other = await openServer({ beside: server, env });
  for (const one of [server, other]) one.deps.problems.push(() => [ENDED]);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

test("metrics and problems are hidden without the token", async () => {
  for (const shown of [{}, bearer("x"), bearer("undefined")]) {
    for (const one of [server, other]) {
      expect((await one.send("GET", "/metrics", shown)).json).toMatchObject({ status: 401, code: "unauthorized" });
      expect((await one.send("GET", "/health", shown)).json).toEqual({ status: "degraded" });
      expect((await one.send("GET", "/ready", shown)).json).toEqual({ status: "ready" });
    }
  }
  expect((await other.send("GET", "/metrics", bearer(TOKEN))).status).toBe(401);
});

test("the operator's token shows both", async () => {
  const metrics = await server.send("GET", "/metrics", bearer(TOKEN));
  expect([metrics.status, metrics.text]).toEqual([200, expect.stringContaining("appdb_control_request_seconds")]);
  expect(metrics.text).toContain('appdb_health_problem{code="certificate_ended"} 1');
  expect(metrics.text).toContain('appdb_health_problem{code="gateway_down"} 0');
  const health = await server.send("GET", "/health", bearer(TOKEN));
  const since = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(health.json).toEqual({ status: "degraded", problems: [{ ...ENDED, since }] });
  expect(health.status).toBe(200);
});

test("a server without its gateway answers 503, without public details", async () => {
  await using failing = await openServer({ beside: server });
  failing.deps.problems.push(() => [DOWN]);
  const answer = await failing.send("GET", "/health");
  expect([answer.status, answer.json]).toEqual([503, { status: "failing" }]);
});

test("a full disk fails, a filling disk degrades, and both are in the metrics", async () => {
  // more than any disk has
  const full = { SERVICE_DISK_FLOOR_GB: "1000000", SERVICE_METRICS_TOKEN: TOKEN };
  await using failing = await openServer({ beside: server, env: full });
  const health = await failing.send("GET", "/health", bearer(TOKEN));
  expect(health.status).toBe(503);
  expect(health.json.problems).toMatchObject([
    { code: "disk_full", what: expect.stringMatching(/has [\d.]+ GB left/) },
  ]);
  const { text } = await failing.send("GET", "/metrics", bearer(TOKEN));
  expect(text).toContain('appdb_health_problem{code="disk_full"} 1');
  expect(Number(/^appdb_home_disk_free_bytes (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
  expect(text).toMatch(/^appdb_home_disk_floor_bytes 1073741824000000$/m);
});

test("failures of the machine are reported and counted without tenant names", async () => {
  await using watched = await openServer({ env: { SERVICE_METRICS_TOKEN: TOKEN, SERVICE_DISK_FLOOR_GB: "0" } });
  const { db } = watched.deps;
  await sql`insert into control.organizations (name, display_name, database_quota) values ('acme-of-ann', 'Acme', 3)`.execute(
    db,
  );
  await sql`insert into control.databases (org_id, name, state, retry_at, last_build, usage)
    select id, 'orders', 'FAILED', now(), '{"state": "failed"}', '{"is_disk_full": true}' from control.organizations`.execute(
    db,
  );
  await sql`insert into control.operations (org_id, kind, target, is_cancellable, actor, created_at)
    select id, 'database.start', 'cloud://acme-of-ann:orders', false, 'ann', now() - interval '5 minutes'
    from control.organizations`.execute(db);
  const { json } = await watched.send("GET", "/health", bearer(TOKEN));
  expect(json).toMatchObject({ status: "degraded", problems: [{ code: "machine_failures" }] });
  expect(json.problems[0].what).toContain("1 database.");
  const { text } = await watched.send("GET", "/metrics", bearer(TOKEN));
  for (const line of [
    'appdb_databases{state="FAILED"} 1',
    'appdb_databases{state="AVAILABLE"} 0',
    "appdb_databases_full 1",
    'appdb_builds{state="failed"} 1',
    'appdb_operations{state="pending"} 1',
    'appdb_webhook_deliveries{state="dead"} 0',
    'appdb_pod_restarts{kind="database"} 0',
    'appdb_organizations{state="active"} 1',
    "appdb_control_postgres_up 1",
  ]) {
    expect(text.split("\n")).toContain(line);
  }
  expect(Number(/^appdb_operation_oldest_seconds\{state="pending"\} (.+)$/m.exec(text)?.[1])).toBeGreaterThan(299);
  for (const name of ["acme-of-ann", "orders"]) expect(text).not.toContain(name);
});
