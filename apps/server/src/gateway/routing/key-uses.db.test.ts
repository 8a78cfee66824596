import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { openGatewayStage } from "../../testing/gateway-stage.ts";
import { openServer } from "../../testing/open-server.ts";
import { openOrgStage } from "../../testing/people.ts";

test("records the use of a valid key, not of a wrong one", async () => {
  await using server = await openServer();
  await using stage = await openGatewayStage(server);
  const { org, owner } = await openOrgStage(server);
  const database = await stage.makeDatabase(org, { name: "main" });
  const id = await stage.makeService(org, database.id, "ingest");
  await stage.runPod({ id, database_id: database.id }, 1);
  await stage.serve(id, 1);
  const grants = [`access:cloud://${org.name}:main`];
  const used = await stage.makeKey(org, owner, "used", grants);
  const wrong = await stage.makeKey(org, owner, "wrong", grants);
  const ask = async (key: string) =>
    (await fetch(`${database.url}/ingest/docs`, { headers: { "x-api-key": key } })).status;
  await eventually(async () => expect(await ask(used)).toBe(200));
  expect(await ask(`${wrong}x`)).toBe(401);
  // it is written once a minute, and on disposal
  await stage.gateway[Symbol.asyncDispose]();
  const list = await server.ask("keyList", { params: { org: org.name }, as: owner });
  const last = Object.fromEntries(
    list.json.items.map(({ name, last_used_at: lastUsedAt }: { name: string; last_used_at: string | null }) => [
      name,
      lastUsedAt !== null,
    ]),
  );
  expect(last).toMatchObject({ used: true, wrong: false });
});
