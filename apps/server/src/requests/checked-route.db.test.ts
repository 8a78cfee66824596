import { connect } from "node:net";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, type TestPeople, type TestPerson } from "../testing/people.ts";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Sends a request whose body ends only after `meanwhile`. Returns its status line. */
async function sendSlowly(person: TestPerson, path: string, body: object, meanwhile: () => Promise<unknown>) {
  const { db } = server.deps;
  const used = () => db.selectFrom("identity.sessions").select("updated_at").where("id", "=", person.session_id);
  const longAgo = new Date(Date.now() - 3_600_000);
  await db.updateTable("identity.sessions").set({ updated_at: longAgo }).where("id", "=", person.session_id).execute();
  const text = JSON.stringify(body);
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1").setEncoding("utf8");
  let answer = "";
  socket.on("data", (part) => {
    answer += part;
  });
  const ended = new Promise((resolve) => socket.once("close", resolve));
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: test",
    `authorization: Bearer ${person.token}`,
    "content-type: application/json",
    `content-length: ${text.length}`,
    "connection: close",
  ].join("\r\n");
  socket.write(`${head}\r\n\r\n${text.slice(0, 5)}`);
  // the session's use is recorded when the request was authorized
  await expect.poll(async () => (await used().executeTakeFirstOrThrow()).updated_at > longAgo).toBe(true);
  await meanwhile();
  socket.write(text.slice(5));
  await ended;
  return answer.split("\r\n")[0] ?? "";
}

describe("a change with a slow body is refused if its caller meanwhile", () => {
  const invite = (setup: TestPeople, meanwhile: () => Promise<unknown>) =>
    sendSlowly(
      setup.admin,
      `/v1/orgs/${setup.org.name}/invitations`,
      { email: "second.self@example.com", role: "admin" },
      meanwhile,
    );
  const invitations = (setup: TestPeople) =>
    server.deps.db.selectFrom("control.invitations").select("email").where("org_id", "=", setup.org.id).execute();
  const admins = (setup: TestPeople) => sql`org_id = ${setup.org.id} and user_id = ${setup.admin.id}`;

  test.each([
    ["was removed", 404, (s: TestPeople) => sql`delete from control.members where ${admins(s)}`],
    ["was demoted", 403, (s: TestPeople) => sql`update control.members set role = 'member' where ${admins(s)}`],
    ["was signed out", 401, (s: TestPeople) => sql`delete from identity.sessions where user_id = ${s.admin.id}`],
  ])("%s", async (_what, status, change) => {
    const setup = await makePeople(server);
    expect(await invite(setup, () => change(setup).execute(server.deps.db))).toContain(` ${status} `);
    expect(await invitations(setup)).toEqual([]);
  });

  test("an unaffected caller's slow change is made", async () => {
    const setup = await makePeople(server);
    expect(await invite(setup, async () => undefined)).toContain(" 201 ");
    expect(await invitations(setup)).toHaveLength(1);
  });

  test("was signed out, on a route without an organization", async () => {
    const { admin } = await makePeople(server);
    const end = () => server.deps.db.deleteFrom("identity.sessions").where("user_id", "=", admin.id).execute();
    expect(await sendSlowly(admin, "/v1/orgs", { name: "too-late" }, end)).toContain(" 401 ");
  });
});

test("of two owners who demote each other at once, one remains", async () => {
  const setup = await makePeople(server);
  const { db } = server.deps;
  await db.updateTable("control.members").set({ role: "owner" }).where("org_id", "=", setup.org.id).execute();
  const members = await db
    .selectFrom("control.members")
    .select(["id", "user_id"])
    .where("org_id", "=", setup.org.id)
    .execute();
  const demote = (as: TestPerson, whom: TestPerson) =>
    server.ask("memberUpdate", {
      as: { token: as.token },
      params: { org: setup.org.name, id: members.find(({ user_id: userId }) => userId === whom.id)?.id ?? "" },
      body: { role: "member" },
    } as never);
  const answers = await Promise.all([demote(setup.owner, setup.admin), demote(setup.admin, setup.owner)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 403]);
});
