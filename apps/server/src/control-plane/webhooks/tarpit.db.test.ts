import { once } from "node:events";
import { createServer } from "node:http";
import { eventually } from "@appdb/testkit/eventually";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { startReconciler } from "../../reconciler/reconciler.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeOrg, makePerson, type TestOrg, type TestPerson } from "../../testing/people.ts";
import { openTestReconciler } from "../../testing/test-reconciler.ts";

const HOOKS = 20;
const EVENTS = 200;

async function addHook(server: TestServer, as: TestPerson, org: TestOrg, url: string): Promise<string> {
  const body = { url, actions: ["key.*"] };
  const { json, status, text } = await server.ask("webhookCreate", { as, params: { org: org.name }, body } as never);
  if (status !== 201) throw new Error(text);
  return json.id;
}

async function addEvents({ deps }: TestServer, org: TestOrg, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await deps.db.transaction().execute((tx) =>
      deps.recordEvent(tx, {
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

test("webhooks that never answer occupy one worker; other organizations are unaffected", async () => {
  await using server = await openServer({ env: { SERVICE_WEBHOOK_PRIVATE: "1" } });
  let hanging = 0;
  const receiver = createServer((request, response) => {
    request.resume();
    if (request.url !== "/tarpit") return void response.writeHead(200).end();
    hanging += 1;
    response.on("close", () => {
      hanging -= 1;
    });
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const address = receiver.address();
  if (address === null || typeof address === "string") throw new Error("The receiver has no port.");
  const origin = `http://127.0.0.1:${address.port}`;
  const attacker = await makePerson(server);
  const org = await makeOrg(server, attacker);
  for (let at = 0; at < HOOKS; at += 1) await addHook(server, attacker, org, `${origin}/tarpit`);
  await addEvents(server, org, EVENTS);
  const victim = await openTestReconciler(server);
  const hook = await addHook(server, victim.owner, victim.org, `${origin}/well`);
  {
    const { machine } = victim;
    const poolOptions = server.deps.pool.options;
    await using _reconciler = await startReconciler({
      ...server.deps,
      machine,
      pool_options: poolOptions,
      allow_private: true,
    });
    await eventually(() => expect(hanging).toBeGreaterThan(0));
    await addEvents(server, victim.org, 3);
    await eventually(async () => {
      const { rows } =
        await sql`select from control.deliveries where webhook_id = ${hook} and state = 'delivered'`.execute(
          server.deps.db,
        );
      expect(rows).toHaveLength(3);
      expect((await victim.see()).state).toBe("AVAILABLE");
    });
    // the attacker's first job is still waiting
    expect(hanging).toBe(4);
    const { rows } = await sql`select from control.jobs
      where name = 'deliver-webhooks' and payload ->> 'org_id' = ${org.id} and lease is not null`.execute(
      server.deps.db,
    );
    expect(rows).toHaveLength(1);
    receiver.closeAllConnections();
  }
  receiver.close();
});
