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

/** A service whose answer is a stream of events, with two keys that read it. */
async function openStreams() {
  const people = await makePeople(server);
  const { org, owner } = people;
  const database = await gateway.makeDatabase(org, { name: "main" });
  const service = await gateway.makeService(org, database.id);
  await gateway.runPod(service, 1, (_req, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write("data: 0\n\n");
    const timer = setInterval(() => res.write("data: 1\n\n"), 100);
    res.once("close", () => clearInterval(timer));
  });
  await gateway.serve(service, 1);
  const grant = `access:cloud://${org.name}:main/services/ingest`;
  const ended: string[] = [];
  let events = 0;
  const open = async (name: string, grants: string[] = []) => {
    const key = await makeKey(server, org, owner, { name, grants });
    let answer: Response | undefined;
    await eventually(async () => {
      answer = await fetch(`${database.url}/ingest/all`, { headers: { "x-api-key": key } });
      expect(answer.status).toBe(200);
    });
    const reader = (answer as Response).body?.getReader();
    const read = async () => {
      for (let done: boolean | undefined = false; done === false; done = (await reader?.read())?.done) events += 1;
    };
    void read().then(
      () => ended.push(name),
      () => ended.push(name),
    );
  };
  await open("first");
  await open("second", [grant]);
  const flows = async () => {
    const before = events;
    await eventually(() => expect(events).toBeGreaterThan(before + 20));
  };
  return { ended, flows, org, owner };
}

const END = { timeout_ms: 4_000 };

test("a stream ends when its key is deleted, and others continue", async () => {
  const { ended, flows, org, owner } = await openStreams();
  await flows();
  expect(ended).toEqual([]);
  await server.ask("keyDelete", { as: owner, params: { org: org.name, name: "first" } });
  await eventually(() => expect(ended).toEqual(["first"]), END);
  await flows();
  expect(ended).toEqual(["first"]);
});

test("a stream ends when its key loses the grant or expires", async () => {
  const { ended, org } = await openStreams();
  const grants = [`access:cloud://${org.name}:main/services/other`];
  const change = async (name: string, set: ReturnType<typeof sql>) => {
    await sql`update control.api_keys set ${set} where org_id = ${org.id} and name = ${name}`.execute(server.deps.db);
  };
  await change("second", sql`grants = ${grants}`);
  await eventually(() => expect(ended).toEqual(["second"]), END);
  await change("first", sql`expires_at = now() - interval '1 second'`);
  await eventually(() => expect(ended).toEqual(["second", "first"]), END);
});

test("streams end when their organization is suspended", async () => {
  const { ended, org } = await openStreams();
  const { db, recordEvent } = server.deps;
  await db.transaction().execute((tx) => suspendOrganization({ tx, recordEvent }, org.name, "unpaid"));
  await eventually(() => expect([...ended].sort()).toEqual(["first", "second"]), END);
});
