import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { suspendOrganization } from "../../control-plane/organizations/suspend-organization.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey, makePeople } from "../../testing/people.ts";
import { openTestGateway, type TestGateway } from "../../testing/test-gateway.ts";

let server: TestServer;
let gateway: TestGateway;
beforeAll(async () => {
  server = await openServer();
  gateway = await openTestGateway(server);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function openService() {
  const { org, owner } = await makePeople(server);
  const key = await makeKey(server, org, owner, { name: "caller" });
  const database = await gateway.makeDatabase(org, { name: "main" });
  const service = await gateway.makeService(org, database.id);
  await eventually(() => expect(gateway.table.byId(database.id)?.services).toHaveLength(1));
  const ask = async (path: string, headers: Record<string, string> = { "x-api-key": key }) =>
    (await (await fetch(`${database.url}/ingest${path}`, { headers })).json()) as {
      code: string;
      hint: string;
      status: number;
    };
  return { ask, database, id: service.id, org };
}

test("a request to a FAILED database gets the state", async () => {
  const { ask, database, org } = await openService();
  await sql`update control.databases set state = 'FAILED' where id = ${database.id}`.execute(server.deps.db);
  await eventually(() => expect(gateway.table.byId(database.id)?.state).toBe("FAILED"));
  expect(await ask("/docs")).toMatchObject({
    status: 503,
    code: "database_failed",
    hint: `See the reason: cli db status cloud://${org.name}:main`,
  });
  expect(await ask("/health", {})).toMatchObject({ status: 503, code: "service_not_available" });
});

test("a request to a suspended organization is refused, even if its database sleeps", async () => {
  const { ask, database, org } = await openService();
  await sql`update control.databases set state = 'STOPPED' where id = ${database.id}`.execute(server.deps.db);
  await server.deps.db
    .transaction()
    .execute((tx) => suspendOrganization({ tx, recordEvent: server.deps.recordEvent }, org.name, "unpaid"));
  await eventually(() => expect(gateway.table.byId(database.id)?.is_suspended).toBe(true));
  const refused = await ask("/docs");
  expect(refused).toMatchObject({ status: 403, code: "organization_suspended" });
  expect(JSON.stringify(refused)).not.toContain("unpaid");
  expect(await ask("/docs", { "x-api-key": "sk_wrong" })).toMatchObject({ code: "unauthorized" });
  expect(await ask("/health", {})).toMatchObject({ code: "service_not_available" });
});
