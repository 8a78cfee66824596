import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { eventually } from "@appdb/testkit/eventually";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startReconciler } from "../../reconciler/reconciler.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople, type TestPeople } from "../../testing/people.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";
import { deliverWebhooks } from "./deliver.ts";
import { signDelivery } from "./post-delivery.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer({ env: { SERVICE_WEBHOOK_PRIVATE: "1" } });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
}
let receiver: Server;
let received: Received[];
/** Statuses to answer in order. The last one repeats. */
let statuses: number[];
let url: string;
let hookPath: string;
beforeEach(async () => {
  received = [];
  statuses = [200];
  // the port may be one that an earlier test used, with deliveries still arriving
  hookPath = `/hook-path-${randomUUID()}`;
  receiver = createServer(async (request, response) => {
    if (request.url !== hookPath && request.url?.startsWith("/hook-path")) return response.writeHead(410).end();
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body, path: request.url ?? "" });
    const status = (statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 500;
    response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end("ignored");
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const address = receiver.address();
  if (address === null || typeof address === "string") throw new Error("The receiver has no port.");
  url = `http://127.0.0.1:${address.port}${hookPath}`;
});
afterEach(() => {
  receiver.closeAllConnections();
  receiver.close();
});

interface HookSetup extends TestPeople {
  readonly hook: string;
  readonly secret: string;
}

async function openSetup(at: TestServer, actions: readonly string[] = []): Promise<HookSetup> {
  const setup = await makePeople(at);
  const input = { as: setup.admin, params: { org: setup.org.name }, body: { url, actions } } as never;
  const { json, status, text } = await at.ask("webhookCreate", input);
  if (status !== 201) throw new Error(text);
  return { ...setup, hook: json.id, secret: json.signing_secret };
}

const id = (setup: HookSetup) => ({ id: setup.hook });
const excludes = [(setup: HookSetup) => setup.secret, "hook-path"];
const body = () => ({ url });
const ROWS: Scenario<HookSetup>[] = [
  ...(["webhookList", "deliveryList"] as const).flatMap((route): Scenario<HookSetup>[] => [
    { as: "guest", route, params: id, status: 401, excludes },
    { as: "outsider", route, params: id, status: 404, includes: ["organization_not_found"], excludes },
    { as: "member", route, params: id, status: 403, excludes },
    { as: "admin", route, params: id, status: 200, excludes: [(setup) => setup.secret] },
    { as: "owner", route, params: id, status: 200, excludes: [(setup) => setup.secret] },
  ]),
  { as: "guest", route: "webhookCreate", body, status: 401 },
  { as: "outsider", route: "webhookCreate", body, status: 404 },
  { as: "member", route: "webhookCreate", body, status: 403, excludes: ["whsec_"] },
  { as: "admin", route: "webhookCreate", body, status: 201, includes: ["whsec_"] },
  {
    as: "owner",
    named: "owner, a bad action",
    route: "webhookCreate",
    body: () => ({ url, actions: ["; drop"] }),
    status: 422,
  },
  { as: "owner", named: "owner, a file", route: "webhookCreate", body: { url: "file:///etc/passwd" }, status: 422 },
  { as: "guest", route: "webhookDelete", params: id, status: 401 },
  { as: "outsider", route: "webhookDelete", params: id, status: 404 },
  {
    as: "outsider",
    named: "outsider, through their own organization",
    route: "webhookDelete",
    params: (setup) => ({ org: setup.other_org.name, id: setup.hook }),
    status: 404,
    includes: ["webhook_not_found"],
  },
  { as: "member", route: "webhookDelete", params: id, status: 403 },
  { as: "admin", route: "webhookDelete", params: id, status: 204 },
  { as: "admin", named: "admin, nonsense", route: "webhookDelete", params: { id: "x" }, status: 404 },
  ...(["guest", "outsider", "member", "admin"] as const).map(
    (as, at): Scenario<HookSetup> => ({
      as,
      route: "webhookResume",
      params: id,
      status: [401, 404, 403, 200][at] ?? 0,
      excludes: [(setup: HookSetup) => setup.secret],
    }),
  ),
  ...(["guest", "outsider", "member", "admin"] as const).map(
    (as, at): Scenario<HookSetup> => ({
      as,
      route: "deliveryReplay",
      params: (setup) => ({ id: setup.hook, delivery: setup.hook }),
      status: [401, 404, 403, 404][at] ?? 0,
    }),
  ),
];

describe("who may do what with webhooks", () => {
  testScenarios(() => server, openSetup, ROWS);
});

describe("a webhook", () => {
  const makeKey = (setup: TestPeople, name: string) =>
    server.ask("keyCreate", { as: setup.admin, params: { org: setup.org.name }, body: { name } } as never);
  const deliveries = async (setup: HookSetup) =>
    (await server.ask("deliveryList", { as: setup.admin, params: { org: setup.org.name, id: setup.hook } })).json.items;
  /** Runs one turn as if all pauses were over. */
  const attempt = async (setup: HookSetup, allowPrivate = true) => {
    const { db, pool } = server.deps;
    await pool.query("update control.webhooks set retry_at = null where id = $1", [setup.hook]);
    await pool.query(
      "update control.deliveries set next_attempt_at = now() where state = 'pending' and webhook_id = $1",
      [setup.hook],
    );
    await deliverWebhooks(
      { ...server.deps, db, allow_private: allowPrivate },
      setup.org.id,
      new AbortController().signal,
    );
  };

  test("gets the event, signed over id, time and body", async () => {
    const setup = await openSetup(server, ["key.*"]);
    await using _reconciler = await startReconciler({
      ...server.deps,
      pool_options: server.deps.pool.options,
      allow_private: true,
    });
    await makeKey(setup, "ci");
    await eventually(async () =>
      expect(await deliveries(setup)).toMatchObject([{ state: "delivered", attempts: 1, last_status: 200 }]),
    );
    const [got] = received;
    if (got === undefined) throw new Error("Expected a request.");
    expect(JSON.parse(got.body)).toMatchObject({ action: "key.create", target: "ci", actor: setup.admin.email });
    const deliveryId = String(got.headers["webhook-id"]);
    const timestamp = Number(got.headers["webhook-timestamp"]);
    expect(got.headers["webhook-signature"]).toBe(
      signDelivery({ delivery_id: deliveryId, timestamp, body: got.body, signing_secret: setup.secret }),
    );
    expect(got.headers["webhook-signature"]).not.toBe(
      signDelivery({ delivery_id: deliveryId, timestamp: timestamp + 1, body: got.body, signing_secret: setup.secret }),
    );
  });

  test("gets only the actions that it subscribes to", async () => {
    const setup = await openSetup(server, ["secret.set", "webhook.*"]);
    const other = await openSetup(server);
    await makeKey(setup, "ci");
    expect(await deliveries(setup)).toHaveLength(1);
    await makeKey(other, "ci");
    expect(await deliveries(other)).toHaveLength(2);
    expect(await deliveries(setup)).toHaveLength(1);
  });

  test("that fails is retried later, shown as failing, and recovers", async () => {
    const setup = await openSetup(server);
    statuses = [500, 302, 200];
    // a worker deletes the job before a turn starts
    await server.deps.pool.query("delete from control.jobs where key = $1", [`deliver-webhooks ${setup.org.id}`]);
    await attempt(setup);
    const [first] = await deliveries(setup);
    expect(first).toMatchObject({ state: "pending", attempts: 1, last_status: 500, last_error: "It answered 500." });
    expect(first.next_attempt_at).toMatch(/Z$/);
    const hook = async () =>
      (await server.ask("webhookList", { as: setup.admin, params: { org: setup.org.name } })).json.items[0];
    expect((await hook()).failing_since).toMatch(/Z$/);
    const { rows } = await server.deps.pool.query("select run_at > now() as later from control.jobs where key = $1", [
      `deliver-webhooks ${setup.org.id}`,
    ]);
    expect(rows).toEqual([{ later: true }]);
    await attempt(setup);
    expect((await deliveries(setup))[0].last_error).toBe("Redirects are not followed.");
    expect(received.map(({ path }) => path)).toEqual([hookPath, hookPath]);
    await attempt(setup);
    expect((await deliveries(setup))[0]).toMatchObject({ state: "delivered", attempts: 3, next_attempt_at: null });
    expect((await hook()).failing_since).toBeNull();
    await attempt(setup);
    expect(received).toHaveLength(3);
  });

  test("that failed for three days is given up, and can be replayed", async () => {
    const setup = await openSetup(server);
    const [{ id: delivery }] = await deliveries(setup);
    await server.deps.pool.query(
      "update control.deliveries set give_up_at = now() - interval '1 second' where id = $1",
      [delivery],
    );
    statuses = [503, 200];
    await attempt(setup);
    expect((await deliveries(setup))[0]).toMatchObject({ state: "dead", next_attempt_at: null });
    await attempt(setup);
    expect(received).toHaveLength(1);
    const params = { org: setup.org.name, id: setup.hook, delivery };
    const replayed = await server.ask("deliveryReplay", { as: setup.admin, params });
    expect([replayed.status, replayed.json.state]).toEqual([202, "pending"]);
    await deliverWebhooks({ ...server.deps, allow_private: true }, setup.org.id, new AbortController().signal);
    expect((await deliveries(setup)).at(-1).state).toBe("delivered");
  });

  test("at a private address is refused at delivery, even if stored before", async () => {
    const setup = await openSetup(server);
    await attempt(setup, false);
    expect(received).toEqual([]);
    expect((await deliveries(setup))[0].last_error).toBe("The address belongs to this machine or a private network.");
  });

  test("has an encrypted signing secret", async () => {
    const setup = await openSetup(server);
    const { rows } = await server.deps.pool.query("select * from control.webhooks where id = $1", [setup.hook]);
    const raw = Buffer.from(setup.secret.replace("whsec_", ""), "base64");
    expect(rows[0].sealed_secret.includes(raw)).toBe(false);
    expect(rows[0].sealed_secret.includes(Buffer.from(setup.secret))).toBe(false);
  });
});
