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

test("a stream ends when its key is deleted, and others continue", async () => {
  const { ended, flows, org, owner } = await openStreams();
  await flows();
  expect(ended).toEqual([]);
  await server.ask("keyDelete", { as: owner, params: { org: org.name, name: "first" } });
  await eventually(() => expect(ended).toEqual(["first"]));
  await flows();
  expect(ended).toEqual(["first"]);
});

test("an upload that began before its key was deleted gets its response, and new requests are refused", async () => {
  const { org, owner } = await makePeople(server);
  const database = await gateway.makeDatabase(org, { name: "main" });
  const service = await gateway.makeService(org, database.id);
  let longest = 0;
  await gateway.runPod(service, 1, (req, res) => {
    let received = 0;
    req.on("data", (data: Buffer) => {
      received += data.length;
      longest = Math.max(longest, received);
    });
    req.on("end", () => res.end(String(received)));
  });
  await gateway.serve(service, 1);
  const key = await makeKey(server, org, owner, { name: "own" });
  const headers = { "x-api-key": key, "content-type": "application/octet-stream" };
  const send = (body: string | ReadableStream) =>
    fetch(`${database.url}/ingest/all`, { method: "POST", headers, body, duplex: "half" } as RequestInit);
  await eventually(async () => expect((await send("x")).status).toBe(200));
  const upload = new TransformStream<Uint8Array, Uint8Array>();
  const writer = upload.writable.getWriter();
  const answer = send(upload.readable);
  await writer.write(Buffer.alloc(1_000));
  await eventually(() => expect(longest).toBe(1_000));
  await server.ask("keyDelete", { as: owner, params: { org: org.name, name: "own" } });
  await eventually(async () => expect((await send("x")).status).toBe(401));
  await writer.write(Buffer.alloc(500));
  await writer.close();
  expect([(await answer).status, await (await answer).text()]).toEqual([200, "1500"]);
});

test("a stream ends when its key loses the grant or expires", async () => {
  const { ended, org } = await openStreams();
  const grants = [`access:cloud://${org.name}:main/services/other`];
  const change = async (name: string, set: ReturnType<typeof sql>) => {
    await sql`update control.api_keys set ${set} where org_id = ${org.id} and name = ${name}`.execute(server.deps.db);
  };
  await change("second", sql`grants = ${grants}`);
  await eventually(() => expect(ended).toEqual(["second"]));
  await change("first", sql`expires_at = now() - interval '1 second'`);
  await eventually(() => expect(ended).toEqual(["second", "first"]));
});

test("streams end when their organization is suspended", async () => {
  const { ended, org } = await openStreams();
  const { db, recordEvent } = server.deps;
  await db.transaction().execute((tx) => suspendOrganization({ tx, recordEvent }, org.name, "unpaid"));
  await eventually(() => expect([...ended].sort()).toEqual(["first", "second"]));
});
