import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { openServer } from "../../testing/open-server.ts";
import { makeKey, makePeople } from "../../testing/people.ts";
import { openTestGateway } from "../../testing/test-gateway.ts";

test("records the use of a valid key, not of a wrong one", async () => {
  await using server = await openServer();
  await using gateway = await openTestGateway(server);
  const { org, owner } = await makePeople(server);
  const database = await gateway.makeDatabase(org, { name: "main" });
  const service = await gateway.makeService(org, database.id);
  await gateway.runPod(service, 1);
  await gateway.serve(service, 1);
  const grants = [`access:cloud://${org.name}:main`];
  const used = await makeKey(server, org, owner, { name: "used", grants });
  const wrong = await makeKey(server, org, owner, { name: "wrong", grants });
  const ask = async (key: string) =>
    (await fetch(`${database.url}/ingest/docs`, { headers: { "x-api-key": key } })).status;
  await eventually(async () => expect(await ask(used)).toBe(200));
  expect(await ask(`${wrong}x`)).toBe(401);
  // it is written once a minute, and on disposal
  await gateway[Symbol.asyncDispose]();
  const list = await server.ask("keyList", { params: { org: org.name }, as: owner });
  const last = Object.fromEntries(
    list.json.items.map(({ name, last_used_at: lastUsedAt }: { name: string; last_used_at: string | null }) => [
      name,
      lastUsedAt !== null,
    ]),
  );
  expect(last).toMatchObject({ used: true, wrong: false });
});
