import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople } from "../../testing/people.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

test("removing a member ends the keys that act as them, and names those that stay", async () => {
  const { member, org, owner } = await makePeople(server);
  const params = { org: org.name };
  await server.ask("keyCreate", { params, body: { name: "laptop" }, as: member });
  await server.ask("keyCreate", { params, body: { name: "owners" }, as: owner });
  const grants = ["access:cloud://acme:main"].map((grant) => grant.replace("acme", org.name));
  const granted = await server.ask("keyCreate", { params, body: { name: "robot", grants }, as: member });
  const { rows } = await sql<{ id: string }>`select id from control.members
    where org_id = ${org.id} and user_id = ${member.id}`.execute(server.deps.db);
  const removed = await server.ask("memberRemove", { params: { ...params, id: rows[0]?.id ?? "" }, as: owner });
  expect(removed.status).toBe(204);
  const { rows: ended } = await sql`select target, actor, detail ->> 'member' as member from control.events
    where org_id = ${org.id} and action = 'key.delete'`.execute(server.deps.db);
  expect(granted.status).toBe(201);
  const { rows: told } = await sql`select detail -> 'keys_left' as keys_left from control.events
    where org_id = ${org.id} and action = 'member.remove'`.execute(server.deps.db);
  expect(told).toEqual([{ keys_left: ["robot"] }]);
  expect(ended).toEqual([{ target: "laptop", actor: owner.email, member: member.email }]);
});
