import { appError, toProblem } from "@appdb/contract/errors";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type HostedDatabase, makeDatabase, makeHostedDatabase, openDatabaseWithPod } from "../../testing/databases.ts";
import { sendJson } from "../../testing/fake-pod.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey, makePeople } from "../../testing/people.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

type Name = "programStore" | "programRenew" | "programEnd";
const NAMES: readonly Name[] = ["programStore", "programRenew", "programEnd"];
const CONTENT = Buffer.from("appdb 3.11\nbytes that are no pickle").toString("base64");
const LEASE = { program: "f".repeat(32), lease_seconds: 60 };
const STORE = { python: "3.11", modules: [CONTENT] };

function ask(setup: HostedDatabase, name: Name, more: object = {}) {
  const params = { org: setup.org.name, db: "main", program: LEASE.program };
  const body = name === "programEnd" ? {} : { body: STORE };
  return server.ask(name, { as: setup.member, params, ...body, ...more } as never);
}

async function events(setup: HostedDatabase): Promise<{ action: string; outcome: string; detail: unknown }[]> {
  const { json } = await server.ask("eventList", { as: setup.owner, params: { org: setup.org.name } } as never);
  return json.items.filter(({ action }: { action: string }) => action === "program.store");
}

test("functions reach the pod unread, with the database's files, and the audit log has no content", async () => {
  await using setup = await openDatabaseWithPod(server);
  setup.pod.answer = (_asked, response) => sendJson(response, LEASE);
  expect((await ask(setup, "programStore")).json).toEqual(LEASE);
  expect((await ask(setup, "programRenew")).json).toEqual(LEASE);
  expect(setup.pod.asked.map(({ route }) => route)).toEqual(["POST /v1/programs", `PUT /v1/programs/${LEASE.program}`]);
  for (const { body } of setup.pod.asked) {
    expect(JSON.parse(body)).toEqual({ ...STORE, functions: [], files: expect.stringMatching(/^[0-9a-f]{64}$/) });
  }
  const told = await events(setup);
  expect(told.map(({ outcome }) => outcome)).toEqual(["succeeded", "pending", "succeeded", "pending"]);
  expect(told[0]?.detail).toEqual({ functions: 0, modules: 1 });
  expect(JSON.stringify(told)).not.toContain(CONTENT);
});

test("a renewal alone is not recorded, and a refused store is", async () => {
  await using setup = await openDatabaseWithPod(server);
  setup.pod.answer = (_asked, response) => sendJson(response, LEASE);
  await ask(setup, "programRenew", { body: { python: "3.11" } });
  expect(await events(setup)).toEqual([]);
  const refused = appError("program_python", { detail: "The program runs Python 3.9." });
  setup.pod.answer = (_asked, response) => sendJson(response, toProblem(refused, "id"), 409);
  expect((await ask(setup, "programStore")).json).toMatchObject({ code: "program_python" });
  expect((await events(setup)).map(({ outcome }) => outcome)).toEqual(["failed", "pending"]);
});

test("a lease is ended by its program", async () => {
  await using setup = await openDatabaseWithPod(server);
  setup.pod.answer = (_asked, response) => void response.writeHead(204).end();
  expect((await ask(setup, "programEnd")).status).toBe(204);
  expect(setup.pod.asked[0]?.route).toBe(`DELETE /v1/programs/${LEASE.program}`);
});

test.each(NAMES)("%s does not reach a database that sleeps", async (name) => {
  const setup = await makeHostedDatabase(server);
  await makeDatabase(server, setup.org, { name: "asleep", state: "STOPPED" });
  const params = { org: setup.org.name, db: "asleep", program: LEASE.program };
  expect((await ask(setup, name, { params })).json).toMatchObject({ code: "database_not_available" });
});

test.each(NAMES)("%s needs a credential that may change tables of this organization", async (name) => {
  await using setup = await openDatabaseWithPod(server);
  const stranger = await makePeople(server);
  expect((await ask(setup, name, { as: stranger.member })).json).toMatchObject({ code: "organization_not_found" });
  expect((await ask(setup, name, { as: undefined })).status).toBe(401);
  const uri = `cloud://${setup.org.name}:main`;
  const grants = [`access:${uri}`, `manage:${uri}/services`];
  const key = await makeKey(server, setup.org, setup.owner, { name: "ci", grants });
  expect((await ask(setup, name, { as: { api_key: key } })).json).toMatchObject({ code: "organization_not_found" });
  expect(setup.pod.asked).toEqual([]);
});

test.each([
  ["content that is not base64", { modules: ["\u0000"] }],
  ["a path as a Python", { python: "../3.11" }],
  ["names of modules", { modules: [], names: ["../../etc/passwd"] }],
  ["another tree of files", { files: "a".repeat(64) }],
])("%s is refused before the pod", async (_, wrong) => {
  await using setup = await openDatabaseWithPod(server);
  expect((await ask(setup, "programStore", { body: { ...STORE, ...wrong } })).json).toMatchObject({
    code: "invalid_request",
  });
  expect(setup.pod.asked).toEqual([]);
});

test("an id with a path stays one part of the pod's path", async () => {
  await using setup = await openDatabaseWithPod(server);
  setup.pod.answer = (_asked, response) => sendJson(response, LEASE);
  const params = { org: setup.org.name, db: "main", program: "../stop" };
  await ask(setup, "programRenew", { params });
  expect(setup.pod.asked.map(({ route }) => route)).toEqual(["PUT /v1/programs/..%2Fstop"]);
});
