import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, makePerson, type TestPerson } from "../testing/people.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer();
});

afterAll(() => server[Symbol.asyncDispose]());

afterEach(async () => {
  await server.deps.db.deleteFrom("identity.attempts").execute();
});

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const post = (route: string, body: unknown, as?: TestPerson) =>
  server.send("POST", `/v1/auth/device/${route}`, {
    body,
    headers: { "user-agent": "cli 0.8.0 (ann's laptop)" },
    ...(as === undefined ? {} : { as: as.browser }),
  });
const start = async () => (await post("code", { client_id: "cli" })).json as { device_code: string; user_code: string };
const poll = (deviceCode: string, clientId = "cli") =>
  post("token", { grant_type: GRANT, device_code: deviceCode, client_id: clientId });
const show = (code: string, as: TestPerson) => server.ask("deviceShow", { params: { code }, as: as.browser });
const approve = (userCode: string, as: TestPerson) => post("approve", { userCode }, as);
/** Skips the five seconds between the CLI's polls. */
const rest = () =>
  server.deps.db
    .updateTable("identity.device_codes")
    .set({ last_polled_at: null } as never)
    .execute();

describe("signing a terminal in", () => {
  test("works with a code that a person confirms in the browser", async () => {
    const { org, member } = await makePeople(server);
    const started = await post("code", { client_id: "cli", scope: "all" });
    expect(started.json).toMatchObject({
      verification_uri: `${server.url}/device`,
      verification_uri_complete: `${server.url}/device?user_code=${started.json.user_code}`,
      expires_in: 900,
      interval: 5,
    });
    const { device_code: deviceCode, user_code } = started.json;
    expect((await poll(deviceCode)).json).toMatchObject({ error: "authorization_pending" });
    expect((await poll(deviceCode)).json).toMatchObject({ error: "slow_down" });
    const written = `${user_code.slice(0, 4)}-${user_code.slice(4)}`.toLowerCase();
    const shown = await show(written, member);
    expect(shown.json).toMatchObject({
      client: "cli",
      ip_address: "127.0.0.1",
      user_agent: "cli 0.8.0 (ann's laptop)",
    });
    expect((await approve(written, member)).status).toBe(200);
    await rest();
    const { rows } = await sql<{ row: string }>`
      select c::text as row from identity.device_codes c where user_code = ${user_code}`.execute(server.deps.db);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.row).not.toContain(deviceCode);
    const token = (await poll(deviceCode)).json;
    expect(token).toMatchObject({ token_type: "Bearer" });
    const as = { token: token.access_token };
    const whoami = await server.ask("whoami", { as });
    expect(whoami.json).toMatchObject({ email: member.email, organization: { name: org.name, role: "member" } });
    const sessions = await server.ask("sessionList", { as });
    expect(sessions.json.items).toContainEqual(expect.objectContaining({ client: "cli", current: true }));
    await rest();
    expect((await poll(deviceCode)).json).toMatchObject({ error: "invalid_grant" });
  });

  test("of concurrent polls with a confirmed code, one gets a session", async () => {
    const ann = await makePerson(server);
    const { device_code: deviceCode, user_code } = await start();
    await show(user_code, ann);
    await approve(user_code, ann);
    const answers = await Promise.all([1, 2, 3, 4].map(() => poll(deviceCode)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    const sessions = await server.deps.db
      .selectFrom("identity.sessions")
      .select("id")
      .where("user_id", "=", ann.id)
      .where("client", "=", "cli")
      .where("user_agent", "!=", "test")
      .execute();
    expect(sessions).toHaveLength(1);
  });

  test("a denied code is reported once", async () => {
    const ann = await makePerson(server);
    const { device_code: deviceCode, user_code } = await start();
    await show(user_code, ann);
    expect((await post("deny", { userCode: user_code }, ann)).status).toBe(200);
    expect((await poll(deviceCode)).json).toMatchObject({ error: "access_denied" });
    expect((await approve(user_code, ann)).json).toMatchObject({ code: "device_code_not_found" });
  });

  test("an expired code is refused on both sides", async () => {
    const ann = await makePerson(server);
    const { device_code: deviceCode, user_code } = await start();
    await show(user_code, ann);
    await server.deps.db
      .updateTable("identity.device_codes")
      .set({ expires_at: new Date(0) })
      .execute();
    expect((await show(user_code, ann)).json).toMatchObject({ code: "device_code_not_found" });
    expect((await approve(user_code, ann)).json).toMatchObject({ code: "device_code_not_found" });
    expect((await poll(deviceCode)).json).toMatchObject({ error: "expired_token" });
  });
});

describe("attacks on it", () => {
  test("a code belongs to the first person who opens it", async () => {
    const [ann, eve] = [await makePerson(server), await makePerson(server)];
    const { user_code } = await start();
    expect((await show(user_code, ann)).status).toBe(200);
    expect((await show(user_code, eve)).json).toMatchObject({ code: "device_code_not_found" });
    expect((await approve(user_code, eve)).json).toMatchObject({ code: "device_code_not_found" });
    expect((await show(user_code, ann)).status).toBe(200);
  });

  test("a code that was never opened cannot be confirmed, so a link alone confirms nothing", async () => {
    const ann = await makePerson(server);
    const { user_code } = await start();
    expect((await approve(user_code, ann)).json).toMatchObject({
      code: "device_code_not_found",
      error: "invalid_request",
    });
  });

  test("the client that starts the flow cannot name the confirming account", async () => {
    const ann = await makePerson(server);
    const started = await post("code", { client_id: "cli", user_id: ann.id });
    const found = await server.deps.db
      .selectFrom("identity.device_codes")
      .select("user_id")
      .where("user_code", "=", started.json.user_code)
      .executeTakeFirst();
    expect(found).toEqual({ user_id: null });
  });

  test("guesses are limited per account", async () => {
    const eve = await makePerson(server);
    const codes = await Promise.all(Array.from({ length: 22 }, (_, index) => show(`AAAA-${1000 + index}`, eve)));
    expect(codes.filter(({ json }) => json.code === "too_many_attempts")).toHaveLength(2);
    const { user_code } = await start();
    expect((await show(user_code, eve)).json).toMatchObject({ code: "too_many_attempts" });
    expect((await approve(user_code, eve)).json).toMatchObject({ code: "too_many_attempts" });
  });

  test("another client is refused when it polls", async () => {
    expect((await post("code", { client_id: "evil" })).json).toMatchObject({ error: "invalid_client" });
    const { device_code: deviceCode } = await start();
    expect((await poll(deviceCode, "evil")).json).toMatchObject({ error: "invalid_grant" });
    expect((await poll("x".repeat(40))).json).toMatchObject({ error: "invalid_grant" });
  });

  test("a guest and a page of another site cannot confirm", async () => {
    const ann = await makePerson(server);
    const { user_code } = await start();
    await show(user_code, ann);
    expect((await post("approve", { userCode: user_code })).json).toMatchObject({ code: "unauthorized" });
    const foreign = await server.send("POST", "/v1/auth/device/approve", {
      body: { userCode: user_code },
      headers: { ...ann.browser, origin: "https://evil.example" },
    });
    expect(foreign.json).toMatchObject({ code: "csrf_refused" });
    expect((await server.ask("deviceShow", { params: { code: user_code } })).status).toBe(401);
  });
});
