import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import {
  makeOrg,
  makePeople,
  makePerson,
  makeSession,
  type TestPeople,
  type TestPerson,
} from "../../testing/people.ts";
import { testScenarios } from "../../testing/scenarios.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const theirs = (setup: TestPeople) => ({ id: setup.owner.session_id });

describe("who may list, end and switch sessions", () => {
  testScenarios(() => server, makePeople, [
    { as: "guest", route: "whoami", status: 401 },
    {
      as: "member",
      route: "whoami",
      status: 200,
      includes: [(s) => s.member.email, ({ org }) => org.name],
      excludes: [(s) => s.member.token],
    },
    { as: "guest", route: "service", status: 200, includes: ['"sign_up":"invitation"'], excludes: ["example.com"] },
    { as: "guest", route: "sessionList", status: 401 },
    {
      as: "member",
      route: "sessionList",
      status: 200,
      includes: [(s) => s.member.session_id],
      excludes: [(s) => s.owner.session_id, (s) => s.member.token],
    },
    { as: "guest", route: "sessionRevoke", params: theirs, status: 401 },
    {
      as: "member",
      named: "member, a session of the owner",
      route: "sessionRevoke",
      params: theirs,
      status: 404,
      includes: ["session_not_found"],
      after: async (_server, s) => expect((await server.ask("whoami", { as: s.owner })).status).toBe(200),
    },
    {
      as: "owner",
      route: "sessionRevoke",
      params: theirs,
      status: 204,
      after: async (_server, s) => expect((await server.ask("whoami", { as: s.owner })).status).toBe(401),
    },
    { as: "guest", route: "sessionSwitch", body: { organization: "x" }, status: 401 },
    { as: "member", route: "sessionSwitch", body: (s: TestPeople) => ({ organization: s.org.name }), status: 200 },
    {
      as: "member",
      named: "member, to another organization",
      route: "sessionSwitch",
      body: (s: TestPeople) => ({ organization: s.other_org.name }),
      status: 404,
      includes: ["organization_not_found"],
      excludes: [(s) => s.other_org.id],
    },
    { as: "guest", route: "deviceShow", params: { code: "ABCD-2345" }, status: 401 },
    {
      as: "member",
      route: "deviceShow",
      params: { code: "ABCD-2345" },
      status: 404,
      includes: ["device_code_not_found"],
    },
  ]);
});

test("switching one session leaves the person's other sessions unchanged", async () => {
  const ann = await makePerson(server);
  const [first, second] = [await makeOrg(server, ann), await makeOrg(server, ann)];
  const other = await makeSession(server, ann.id);
  expect((await server.ask("whoami", { as: ann })).json.organization.name).toBe(second.name);
  await server.ask("sessionSwitch", { body: { organization: first.name }, as: other });
  expect((await server.ask("whoami", { as: ann })).json.organization.name).toBe(second.name);
  expect((await server.ask("whoami", { as: other })).json.organization.name).toBe(first.name);
});

test("sessions are paged, newest first, and the caller's is marked", async () => {
  const ann = await makePerson(server);
  for (let index = 0; index < 3; index++) await makeSession(server, ann.id, "browser");
  const found = [];
  for await (const session of server.client(ann).each("sessionList", { query: { limit: 2 } })) found.push(session);
  expect(found).toHaveLength(5);
  expect(found.filter(({ current }) => current).map(({ id }) => id)).toEqual([ann.session_id]);
  const times = found.map(({ created_at: createdAt }) => createdAt);
  expect(times).toEqual([...times].sort().reverse());
});

test("a forged cursor is refused", async () => {
  const ann = await makePerson(server);
  const forge = (after: string) => Buffer.from(JSON.stringify([after, "x"])).toString("base64url");
  for (const cursor of ["x", forge("now()"), forge("2026-02-31"), forge("1".repeat(17))]) {
    const answer = await server.ask("sessionList", { query: { cursor }, as: ann });
    expect(answer.json).toMatchObject({ code: "invalid_cursor" });
  }
});

describe("credentials", () => {
  const whoami = (headers: Record<string, string>) => server.send("GET", "/v1/whoami", { headers });
  /** Makes the person's sessions older. */
  const age = (who: TestPerson, { created_h: createdH, used_h: usedH }: { created_h: number; used_h: number }) =>
    sql`update identity.sessions set created_at = now() - make_interval(hours => ${createdH}),
      updated_at = now() - make_interval(hours => ${usedH}) where user_id = ${who.id}`.execute(server.deps.db);

  test("the database stores no text that signs in", async () => {
    const ann = await makePerson(server);
    const { rows } = await sql<{ row: string; token_hash: string }>`
      select s::text as row, token_hash from identity.sessions s where user_id = ${ann.id}`.execute(server.deps.db);
    expect(rows).toHaveLength(2);
    for (const { row, token_hash: tokenHash } of rows) {
      expect(row).not.toContain(ann.token);
      expect((await whoami({ authorization: `Bearer ${tokenHash}` })).status).toBe(401);
      const cookie = server.deps.identity.cookie.write(tokenHash, 60).split(";")[0] ?? "";
      expect((await whoami({ cookie })).status).toBe(401);
    }
  });

  test("the token of a cookie is refused as a bearer token", async () => {
    const ann = await makePerson(server);
    const { token, cookie } = await makeSession(server, ann.id, "browser");
    expect((await whoami({ cookie })).status).toBe(200);
    expect((await whoami({ authorization: `Bearer ${token}` })).json).toMatchObject({ code: "unauthorized" });
  });

  test("the token of a terminal is refused as a cookie", async () => {
    const ann = await makePerson(server);
    const cookie = server.deps.identity.cookie.write(ann.token, 60).split(";")[0] ?? "";
    expect((await whoami({ authorization: `Bearer ${ann.token}` })).status).toBe(200);
    expect((await whoami({ cookie })).status).toBe(401);
  });

  test("a browser session ends after 30 days of use", async () => {
    const ann = await makePerson(server);
    await age(ann, { created_h: 30 * 24 + 1, used_h: 0 });
    expect((await server.ask("whoami", { as: ann.browser })).status).toBe(401);
    expect((await server.ask("whoami", { as: ann })).status).toBe(200);
  });

  test("a terminal session ends after 90 days of use", async () => {
    const ann = await makePerson(server);
    await age(ann, { created_h: 90 * 24 - 1, used_h: 1 });
    const used = await server.ask("whoami", { as: ann });
    expect(Date.parse(used.json.expires_at)).toBeLessThan(Date.now() + 2 * 3_600_000);
    await age(ann, { created_h: 90 * 24 + 1, used_h: 0 });
    expect((await server.ask("whoami", { as: ann })).status).toBe(401);
  });

  test("using a session renews it, in the table and in the browser", async () => {
    const ann = await makePerson(server);
    await age(ann, { created_h: 48, used_h: 1 });
    const answer = await server.ask("whoami", { as: ann.browser });
    // 28 of the 30 days of a browser session are left
    expect(answer.headers.getSetCookie()[0]).toMatch(/Max-Age=24(19200|191\d\d);/);
    expect(Date.parse(answer.json.expires_at)).toBeGreaterThan(Date.now() + 27 * 86_400_000);
    expect((await server.ask("whoami", { as: ann.browser })).headers.getSetCookie()).toEqual([]);
  });

  test("an expired session is refused", async () => {
    const ann = await makePerson(server);
    const { db } = server.deps;
    await db
      .updateTable("identity.sessions")
      .set({ expires_at: new Date(0) })
      .where("user_id", "=", ann.id)
      .execute();
    expect((await server.ask("whoami", { as: ann })).json).toMatchObject({ code: "unauthorized" });
    expect((await server.ask("whoami", { as: ann.browser })).json).toMatchObject({ code: "unauthorized" });
  });

  test("a bad key is refused next to a good token and a good cookie", async () => {
    const ann = await makePerson(server);
    const bad = { "x-api-key": `sk_abcdefghijkl_${"x".repeat(43)}` };
    for (const headers of [bad, { ...bad, authorization: `Bearer ${ann.token}` }, { ...bad, ...ann.browser }]) {
      expect((await whoami(headers)).json).toMatchObject({ code: "unauthorized", status: 401 });
    }
    expect((await whoami({ "x-api-key": "", authorization: `Bearer ${ann.token}` })).status).toBe(401);
  });

  test("a bad token is refused next to a good cookie", async () => {
    const ann = await makePerson(server);
    for (const authorization of [
      "Bearer nobodys-token-000000",
      "Bearer ",
      "Basic YTpi",
      `Bearer ${ann.token} x`,
      "Bearer ' or 1=1",
    ]) {
      expect((await whoami({ authorization, ...ann.browser })).json).toMatchObject({ code: "unauthorized" });
    }
  });

  test("a cookie with a wrong signature is refused", async () => {
    const [ann, eve] = [await makePerson(server), await makePerson(server)];
    const value = decodeURIComponent(eve.browser.cookie.split("=")[1] ?? "");
    const signature = value.slice(value.lastIndexOf("."));
    for (const cookie of [
      `${ann.token}${signature}`,
      ann.token,
      `${ann.token}.`,
      `.${signature}`,
      "%",
      `${ann.token}.%`,
    ]) {
      const answer = await whoami({ cookie: `appdb.session_token=${encodeURIComponent(cookie)}` });
      expect(answer.status).toBe(401);
    }
  });
});
