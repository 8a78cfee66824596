import { EventReader } from "@appdb/testkit/event-reader";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EventInput } from "../../audit/event.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople, type TestPeople } from "../../testing/people.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const EVENT: Omit<EventInput, "org_id"> = {
  action: "key.create",
  target: "ci",
  actor: "ann@example.com",
  principal: undefined,
  ip_address: "192.0.2.7",
  client: "cli/1",
  outcome: "succeeded",
};
const record = (orgId: string, more: Partial<EventInput> = {}, at = server) =>
  at.deps.recordEvent(at.deps.db, { ...EVENT, org_id: orgId, ...more });

async function openSetup(at: TestServer): Promise<TestPeople> {
  const setup = await makePeople(at);
  await record(setup.org.id, { target: "mine" }, at);
  await record(setup.other_org.id, { target: "theirs" }, at);
  return setup;
}

const STREAM = { accept: "text/event-stream" };
const ROWS: Scenario[] = [
  { as: "guest", route: "eventList", status: 401, excludes: ["mine"] },
  { as: "guest", named: "guest, as a stream", route: "eventList", headers: STREAM, status: 401, excludes: ["mine"] },
  { as: "outsider", route: "eventList", status: 404, includes: ["organization_not_found"], excludes: ["mine"] },
  {
    as: "outsider",
    named: "outsider, as a stream",
    route: "eventList",
    headers: STREAM,
    status: 404,
    excludes: ["mine"],
  },
  ...(["member", "admin", "owner"] as const).map(
    (as): Scenario => ({
      as,
      route: "eventList",
      status: 200,
      includes: ["mine", "192.0.2.7", "cli/1"],
      excludes: ["theirs", (setup) => setup.other_org.name],
    }),
  ),
  { as: "member", named: "member, a bad cursor", route: "eventList", query: { cursor: "x" }, status: 422 },
  {
    as: "member",
    named: "member, a stream from nonsense",
    route: "eventList",
    headers: { ...STREAM, "last-event-id": "1; drop table" },
    status: 422,
    includes: ["invalid_cursor"],
  },
];

describe("who may read events", () => {
  testScenarios(() => server, openSetup, ROWS);
});

describe("the audit log", () => {
  test("cannot be changed or deleted, even with SQL", async () => {
    await openSetup(server);
    for (const text of [
      "update control.events set actor = 'x'",
      "delete from control.events",
      "truncate control.events cascade",
    ]) {
      await expect(server.deps.pool.query(text)).rejects.toThrow("append-only");
    }
  });

  test("belongs to its change: a rollback removes the event", async () => {
    const setup = await openSetup(server);
    const failed = server.deps.db.transaction().execute(async (tx) => {
      await server.deps.recordEvent(tx, { ...EVENT, org_id: setup.org.id, target: "undone" });
      throw new Error("rolled back");
    });
    await expect(failed).rejects.toThrow("rolled back");
    const { text } = await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } });
    expect(text).not.toContain("undone");
  });

  test("writes text from callers on one line", async () => {
    const setup = await openSetup(server);
    const nasty = "a\u001b[31m\r\n\u0000\u2028\ud800b";
    await record(setup.org.id, { target: nasty, actor: nasty, client: nasty, detail: { nasty, deep: [nasty] } });
    const { json } = await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } });
    const { target, actor, client, detail } = json.items[0];
    expect(new Set([target, actor, client, detail.nasty, detail.deep[0]])).toEqual(
      new Set(["a?[31m?????b".replace("?????b", "????\ufffdb")]),
    );
  });

  test("lists are paged, newest first", async () => {
    const setup = await makePeople(server);
    for (const target of ["a", "b", "c"]) await record(setup.org.id, { target });
    const page = (query: Record<string, string>) =>
      server.ask("eventList", { as: setup.member, params: { org: setup.org.name }, query } as never);
    const first = await page({ limit: "2" });
    expect(first.json.items.map((event: { target: string }) => event.target)).toEqual(["c", "b"]);
    const second = await page({ limit: "2", cursor: first.json.next });
    expect(second.json).toMatchObject({ items: [{ target: "a" }], next: null });
  });

  test("numbers an organization's events in commit order", async () => {
    const setup = await makePeople(server);
    const { db, recordEvent } = server.deps;
    const committed: string[] = [];
    await Promise.all(
      Array.from({ length: 24 }, (_, at) =>
        db
          .transaction()
          .execute((tx) => recordEvent(tx, { ...EVENT, org_id: setup.org.id, target: String(at) }))
          .then(() => committed.push(String(at))),
      ),
    );
    const rows = await db
      .selectFrom("control.events")
      .select(["id", "target"])
      .where("org_id", "=", setup.org.id)
      .orderBy("id")
      .execute();
    expect(rows.map((row) => row.target).sort()).toEqual(committed.sort());
    // a visible number implies all lower ones: an open transaction has no event number yet
    const open = await db.startTransaction().execute();
    await recordEvent(open, { ...EVENT, org_id: setup.org.id, target: "open" });
    let isWritten = false;
    const other = record(setup.org.id, { target: "after" }).then(() => {
      isWritten = true;
    });
    await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } });
    expect(isWritten).toBe(false);
    await open.commit().execute();
    await other;
    const last = await db
      .selectFrom("control.events")
      .select("target")
      .where("org_id", "=", setup.org.id)
      .orderBy("id", "desc")
      .limit(2)
      .execute();
    expect(last.map((row) => row.target)).toEqual(["after", "open"]);
  });
});

describe("a stream of events", () => {
  async function follow(at: TestServer, setup: TestPeople, from?: string) {
    const stop = new AbortController();
    const response = await fetch(`${at.url}/v1/orgs/${setup.org.name}/events`, {
      headers: {
        ...STREAM,
        authorization: `Bearer ${setup.member.token}`,
        ...(from === undefined ? {} : { "last-event-id": from }),
      },
      signal: stop.signal,
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    if (response.body === null) throw new Error("Expected a body.");
    const reader = new EventReader(response.body);
    return {
      next: async () => (await reader.next()) ?? "ended",
      leave: () => stop.abort(),
    };
  }

  test("shows events from any server, but not of other organizations", async () => {
    const setup = await openSetup(server);
    await using other = await openServer({ beside: server });
    const stream = await follow(other, setup);
    await record(setup.other_org.id, { target: "theirs" });
    await record(setup.org.id, { target: "one" });
    await record(setup.org.id, { target: "two" }, other);
    expect(await stream.next()).toMatchObject({ data: { target: "one" } });
    expect(await stream.next()).toMatchObject({ data: { target: "two" } });
    stream.leave();
  });

  test("resumes after the last event, and misses none of many", async () => {
    const setup = await makePeople(server);
    await record(setup.org.id, { target: "first" });
    const { json } = await server.ask("eventList", { as: setup.member, params: { org: setup.org.name } });
    await server.deps.pool.query(
      `insert into control.events (org_id, action, target, actor, outcome, detail)
         select $1, 'key.create', n::text, 'x', 'succeeded', '{}' from generate_series(1, 450) n`,
      [setup.org.id],
    );
    const stream = await follow(server, setup, json.items[0].id);
    const seen: string[] = [];
    while (seen.length < 450) {
      const event = await stream.next();
      if (event === "ended") break;
      seen.push(event.data.target);
    }
    expect(seen).toEqual(Array.from({ length: 450 }, (_, at) => String(at + 1)));
    stream.leave();
  });

  test("continues after the notification connection is lost", async () => {
    const setup = await openSetup(server);
    await using other = await openServer({ beside: server });
    const stream = await follow(other, setup);
    await server.deps.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'appdb notifications' and datname = current_database()",
    );
    await record(setup.org.id, { target: "meanwhile" });
    expect(await stream.next()).toMatchObject({ data: { target: "meanwhile" } });
    stream.leave();
  });

  test("ends when the server stops", async () => {
    const setup = await openSetup(server);
    const other = await openServer({ beside: server });
    const stream = await follow(other, setup);
    await other[Symbol.asyncDispose]();
    expect(await stream.next()).toBe("ended");
  });
});
