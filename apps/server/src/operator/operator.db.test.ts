import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeRunning, writeRunning } from "../config/server-home.ts";
import {
  resumeOrganization,
  stopSuspended,
  suspendOrganization,
} from "../control-plane/organizations/suspend-organization.ts";
import { makeDatabase } from "../testing/databases.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, type TestPeople } from "../testing/people.ts";
import { listOperatedDatabases, listOperatedOrgs, readStatus } from "./read-server.ts";
import { retryFailed } from "./retry-failed.ts";
import { setQuota } from "./set-quota.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const change = <Answer>(act: (write: Parameters<typeof setQuota>[0]) => Promise<Answer>): Promise<Answer> =>
  server.deps.db.transaction().execute((tx) => act({ tx, recordEvent: server.deps.recordEvent }));

async function eventsOf(orgId: string): Promise<string[]> {
  const { rows } = await sql<{ said: string }>`select action || ' by ' || actor as said from control.events
    where org_id = ${orgId} and actor = 'operator' order by id`.execute(server.deps.db);
  return rows.map(({ said }) => said);
}

async function stateOf(id: string): Promise<string> {
  return (
    await server.deps.db.selectFrom("control.databases").select("state").where("id", "=", id).executeTakeFirstOrThrow()
  ).state;
}

async function setup(): Promise<TestPeople> {
  return await makePeople(server);
}

describe("retry", () => {
  test("starts FAILED databases and services of all organizations, and no others", async () => {
    const [one, two] = [await setup(), await setup()];
    const failed = [
      await makeDatabase(server, one.org, { state: "FAILED" }),
      await makeDatabase(server, two.org, { state: "FAILED" }),
    ];
    const fine = await makeDatabase(server, one.org, { name: "fine" });
    const tried = await retryFailed(server.deps, undefined);
    expect(tried.databases).toEqual(
      expect.arrayContaining([`cloud://${one.org.name}:main`, `cloud://${two.org.name}:main`]),
    );
    expect(await Promise.all(failed.map(stateOf))).toEqual(["STARTING", "STARTING"]);
    expect(await stateOf(fine)).toBe("AVAILABLE");
    expect(await eventsOf(one.org.id)).toEqual(["database.retry by operator"]);
    expect(await retryFailed(server.deps, undefined)).toEqual({ databases: [], services: [] });
  });

  test("is limited to a given organization", async () => {
    const [one, two] = [await setup(), await setup()];
    await makeDatabase(server, one.org, { state: "FAILED" });
    const other = await makeDatabase(server, two.org, { state: "FAILED" });
    expect((await retryFailed(server.deps, one.org.name)).databases).toEqual([`cloud://${one.org.name}:main`]);
    expect(await stateOf(other)).toBe("FAILED");
  });
});

describe("a suspended organization", () => {
  test("is refused with the operator's reason, and its databases stop", async () => {
    const { org, owner, outsider } = await setup();
    const awake = await makeDatabase(server, org);
    const asleep = await makeDatabase(server, org, { name: "asleep", state: "STOPPED" });
    const answer = await change((write) => suspendOrganization(write, org.name, "unpaid"));
    expect(answer).toEqual({ organization: org.name, stopped: [`cloud://${org.name}:main`], later: [] });
    expect([await stateOf(awake), await stateOf(asleep)]).toEqual(["STOPPING", "STOPPED"]);
    const refused = await server.ask("orgShow", { params: { org: org.name }, as: owner });
    expect(refused).toMatchObject({ status: 403, json: { code: "organization_suspended" } });
    expect(refused.text).toContain("unpaid");
    const strangers = await server.ask("orgShow", { params: { org: org.name }, as: outsider });
    expect(strangers.json).toMatchObject({ code: "organization_not_found" });
    expect((await server.ask("whoami", { as: owner })).status).toBe(200);
    expect(await eventsOf(org.id)).toEqual(["database.stop by operator", "org.suspend by operator"]);
  });

  test("stops a database whose creation is running, and no other organization's", async () => {
    const [{ org }, other] = [await setup(), await setup()];
    const made = await makeDatabase(server, org, { state: "PROVISIONING" });
    const theirs = await makeDatabase(server, other.org);
    const answer = await change((write) => suspendOrganization(write, org.name, undefined));
    expect(answer.later).toEqual([`cloud://${org.name}:main`]);
    await server.deps.db.updateTable("control.databases").set({ state: "AVAILABLE" }).where("id", "=", made).execute();
    expect(await stopSuspended(server.deps.db, server.deps.recordEvent)).toBe(1);
    expect([await stateOf(made), await stateOf(theirs)]).toEqual(["STOPPING", "AVAILABLE"]);
    expect(await stopSuspended(server.deps.db, server.deps.recordEvent)).toBe(0);
  });

  test("resumes, and the databases that ran before start again", async () => {
    const { org, owner } = await setup();
    const awake = await makeDatabase(server, org);
    const asleep = await makeDatabase(server, org, { name: "asleep", state: "STOPPED" });
    await change((write) => suspendOrganization(write, org.name, undefined));
    await server.deps.db.updateTable("control.databases").set({ state: "STOPPED" }).where("id", "=", awake).execute();
    const answer = await change((write) => resumeOrganization(write, org.name));
    expect(answer.started).toEqual([`cloud://${org.name}:main`]);
    expect([await stateOf(awake), await stateOf(asleep)]).toEqual(["STARTING", "STOPPED"]);
    expect((await server.ask("orgShow", { params: { org: org.name }, as: owner })).status).toBe(200);
    await expect(change((write) => resumeOrganization(write, org.name))).rejects.toMatchObject({
      code: "organization_state",
    });
  });
});

test("quota changes the limit of an existing organization", async () => {
  const { org, owner } = await setup();
  const answer = await change((write) => setQuota(write, org.name, 7));
  expect(answer).toEqual({ organization: org.name, before: 3, database_quota: 7 });
  expect((await server.ask("orgShow", { params: { org: org.name }, as: owner })).json).toMatchObject({
    database_quota: 7,
  });
  expect(await eventsOf(org.id)).toEqual(["org.quota by operator"]);
  await expect(change((write) => setQuota(write, "nobody", 7))).rejects.toMatchObject({
    code: "organization_not_found",
  });
});

test("lists show organizations, databases and the reasons of failures", async () => {
  const { org } = await setup();
  const id = await makeDatabase(server, org, { state: "FAILED" });
  await sql`update control.databases set failure = '{"code": "disk_full", "detail": "no room", "hint": null}', retry_at = now()
    where id = ${id}`.execute(server.deps.db);
  await sql`update control.databases set usage = '{"disk_bytes": 1000, "disk_limit_bytes": 1024, "is_disk_full": true}'
    where id = ${id}`.execute(server.deps.db);
  const [database] = await listOperatedDatabases(server.deps.db, org.name);
  expect(database).toMatchObject({
    is_disk_full: true,
    disk_bytes: 1_000,
    disk_limit_bytes: 1_024,
    uri: `cloud://${org.name}:main`,
    id,
    state: "FAILED",
    failure: { code: "disk_full" },
    services: {},
  });
  expect(database?.retry_at).toMatch(/^\d{4}-/);
  const orgs = await listOperatedOrgs(server.deps.db);
  expect(orgs.find(({ name }) => name === org.name)).toMatchObject({
    databases: 1,
    database_quota: 3,
    suspended_at: null,
  });
  const status = await readStatus(server.deps.db, server.deps);
  expect(status.databases["FAILED"]).toBeGreaterThan(0);
  expect(status.free_disk_bytes).toBeGreaterThan(0);
  const quotas = {
    ...server.deps.config.quotas,
    storage: { ...server.deps.config.quotas.storage, floor_bytes: 2 ** 60 },
  };
  const full = await readStatus(server.deps.db, { config: { ...server.deps.config, quotas } });
  expect(full.disk_problem).toMatchObject({
    code: "disk_full",
    what: expect.stringContaining("organizations cannot write"),
  });
  expect([status.url, status.is_responding]).toEqual([null, false]);
  const serving = createServer((_req, res) => void res.writeHead(503).end()).listen(0, "127.0.0.1");
  await once(serving, "listening");
  const url = `http://127.0.0.1:${(serving.address() as AddressInfo).port}`;
  writeRunning(server.home, url);
  expect(await readStatus(server.deps.db, server.deps)).toMatchObject({ url, is_responding: true });
  serving.close();
  serving.closeAllConnections();
  expect(await readStatus(server.deps.db, server.deps)).toMatchObject({ url, is_responding: false });
  removeRunning(server.home);
});
