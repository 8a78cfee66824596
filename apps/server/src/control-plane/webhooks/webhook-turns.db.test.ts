import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MAX_FAILURES, MAX_WAITING } from "../../audit/webhook-limits.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople, type TestPeople } from "../../testing/people.ts";
import { deliverWebhooks } from "./deliver.ts";
import { forgetDeliveries } from "./due-deliveries.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer({ env: { SERVICE_WEBHOOK_PRIVATE: "1" } });
});
afterAll(() => server[Symbol.asyncDispose]());

let receiver: Server;
let origin: string;
/** Paths of received requests. `/broken` answers 500. */
let asked: string[];
beforeEach(async () => {
  asked = [];
  receiver = createServer((request, response) => {
    asked.push(request.url ?? "");
    request.resume();
    response.writeHead(request.url === "/broken" ? 500 : 200).end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const address = receiver.address();
  if (address === null || typeof address === "string") throw new Error("The receiver has no port.");
  origin = `http://127.0.0.1:${address.port}`;
});
afterEach(() => {
  receiver.closeAllConnections();
  receiver.close();
});

async function addHook({ admin, org }: TestPeople, path: string): Promise<string> {
  const body = { url: `${origin}${path}`, actions: ["key.*"] };
  const { json, status, text } = await server.ask("webhookCreate", {
    as: admin,
    params: { org: org.name },
    body,
  } as never);
  if (status !== 201) throw new Error(text);
  return json.id;
}

async function addEvents({ org }: TestPeople, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await server.deps.db.transaction().execute((tx) =>
      server.deps.recordEvent(tx, {
        action: "key.create",
        target: `key ${at}`,
        actor: "a test",
        org_id: org.id,
        principal: undefined,
        ip_address: null,
        client: null,
        outcome: "succeeded",
      }),
    );
  }
}

const turn = ({ org }: TestPeople) =>
  deliverWebhooks({ ...server.deps, allow_private: true }, org.id, new AbortController().signal);
const hookOf = async ({ admin, org }: TestPeople) =>
  (await server.ask("webhookList", { as: admin, params: { org: org.name } } as never)).json.items[0];
const count = async (webhook: string, state: string) => {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from control.deliveries
    where webhook_id = ${webhook} and state = ${state}`.execute(server.deps.db);
  return rows[0]?.count;
};

describe("webhooks of an organization", () => {
  test("take turns, least recently tried first", async () => {
    const setup = await makePeople(server);
    for (let at = 0; at < 6; at += 1) await addHook(setup, `/well-${at}`);
    await addEvents(setup, 1);
    await turn(setup);
    expect(new Set(asked).size).toBe(4);
    await addEvents(setup, 1);
    await turn(setup);
    expect(new Set(asked).size).toBe(6);
  });
});

describe("a webhook", () => {
  test("that fails gets one delivery at a time, after its pause", async () => {
    const setup = await makePeople(server);
    await addHook(setup, "/broken");
    await addEvents(setup, 5);
    await turn(setup);
    await turn(setup);
    expect(asked).toEqual(["/broken"]);
  });

  test("that fails too often is paused with an event; a person resumes it and gets the waiting deliveries", async () => {
    const setup = await makePeople(server);
    const hook = await addHook(setup, "/broken");
    await addEvents(setup, 2);
    const params = { org: setup.org.name, id: hook };
    const over = () => sql`update control.webhooks set retry_at = null where id = ${hook}`.execute(server.deps.db);
    const due = () =>
      sql`update control.deliveries set next_attempt_at = now() where webhook_id = ${hook}`.execute(server.deps.db);
    for (let at = 0; at < MAX_FAILURES; at += 1) {
      expect((await hookOf(setup)).paused_at).toBeNull();
      await over();
      await due();
      await turn(setup);
    }
    expect((await hookOf(setup)).paused_at).toMatch(/Z$/);
    const events = await server.ask("eventList", { as: setup.admin, params: { org: setup.org.name } } as never);
    expect(events.json.items).toContainEqual(
      expect.objectContaining({
        action: "webhook.pause",
        target: hook,
        actor: "system",
        detail: { origin, failures: MAX_FAILURES, last_error: "It answered 500." },
      }),
    );
    await over();
    await addEvents(setup, 1);
    await turn(setup);
    expect(asked).toHaveLength(MAX_FAILURES);
    await sql`update control.webhooks set url = ${`${origin}/well`} where id = ${hook}`.execute(server.deps.db);
    const resumed = await server.ask("webhookResume", { as: setup.admin, params } as never);
    expect(resumed.json).toMatchObject({ paused_at: null, failing_since: null });
    await turn(setup);
    expect(await count(hook, "delivered")).toBe(3);
  });

  test("that failed for three days is paused, and a replay resumes it", async () => {
    const setup = await makePeople(server);
    const hook = await addHook(setup, "/broken");
    await addEvents(setup, 1);
    await sql`update control.webhooks set failing_since = now() - interval '73 hours' where id = ${hook}`.execute(
      server.deps.db,
    );
    await turn(setup);
    expect((await hookOf(setup)).paused_at).toMatch(/Z$/);
    const list = await server.ask("deliveryList", { as: setup.admin, params: { org: setup.org.name, id: hook } });
    const params = { org: setup.org.name, id: hook, delivery: list.json.items[0].id };
    expect((await server.ask("deliveryReplay", { as: setup.admin, params })).status).toBe(202);
    expect((await hookOf(setup)).paused_at).toBeNull();
    await turn(setup);
    expect(asked).toEqual(["/broken", "/broken"]);
  });

  test("keeps a bounded number of waiting and completed deliveries, dropping the oldest", async () => {
    const setup = await makePeople(server);
    const hook = await addHook(setup, "/well");
    await addEvents(setup, 1);
    const copy = async (state: string, max: number) => {
      await sql`insert into control.events (org_id, action, target, actor, outcome, detail)
        select ${setup.org.id}, 'org.update', 'x', 'a test', 'succeeded', '{}' from generate_series(1, ${max}::int)`.execute(
        server.deps.db,
      );
      await sql`insert into control.deliveries (webhook_id, event_id, state)
        select ${hook}, e.id, ${state} from control.events e where e.org_id = ${setup.org.id}
          and not exists (select from control.deliveries d where d.webhook_id = ${hook} and d.event_id = e.id)
        order by e.id desc limit ${max}`.execute(server.deps.db);
    };
    await copy("pending", MAX_WAITING);
    await addEvents(setup, 1);
    expect(await count(hook, "pending")).toBe(MAX_WAITING);
    const { rows } =
      await sql`select last_error from control.deliveries where webhook_id = ${hook} and state = 'dead'`.execute(
        server.deps.db,
      );
    expect(rows).toEqual(
      Array(2).fill({ last_error: "Dropped: more than 1000 deliveries were waiting, and this was the oldest." }),
    );
    await copy("delivered", 2_100);
    await forgetDeliveries(server.deps.db);
    expect([await count(hook, "delivered"), await count(hook, "dead")]).toEqual([2_000, 0]);
    expect(await count(hook, "pending")).toBe(MAX_WAITING);
  });
});
