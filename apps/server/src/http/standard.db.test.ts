import { request } from "node:http";
import { text } from "node:stream/consumers";
import { CONTROL_ROUTES } from "@appdb/contract/routes/control-paths";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople } from "../testing/people.ts";

/** Requirements of OWASP ASVS 5.0 without another test (docs/security.md). */
let server: TestServer;

beforeAll(async () => {
  server = await openServer({ env: { SERVICE_SIGN_UP: "open" }, has_slow_passwords: true });
  // sign-up is closed before the first account
  await makePeople(server);
});

afterAll(() => server[Symbol.asyncDispose]());

let count = 0;
async function signUp(password: string) {
  const email = `person${++count}@example.com`;
  const { db } = server.deps;
  await db.deleteFrom("identity.attempts").execute();
  const made = await server.send("POST", "/v1/auth/sign-up/email", { body: { email, name: "Ann", password } });
  return { email, made };
}
const signIn = (email: string, password: string) =>
  server.send("POST", "/v1/auth/sign-in/email", { body: { email, password } });

describe("passwords", () => {
  test("of fewer than 10 characters are refused", async () => {
    expect((await signUp("xqzvkwpjf")).made.status).toBe(422);
    expect((await signUp("xqzvkwpjfm")).made.status).toBe(200);
  });

  test("may have any characters, unchanged, up to 200", async () => {
    const password = ` Ünï ☃ ${"xqzvkwpj ".repeat(20)}`;
    const { email, made } = await signUp(password);
    expect(made.status).toBe(200);
    expect((await signIn(email, password)).status).toBe(200);
    for (const other of [password.trim(), password.toLowerCase(), password.slice(0, 100)]) {
      expect((await signIn(email, other)).json).toMatchObject({ code: "sign_in_failed" });
    }
  });

  test("are stored with scrypt and a random salt", async () => {
    await signUp("xqzvkwpjfm one");
    await signUp("xqzvkwpjfm one");
    const { rows } = await sql<{ password: string }>`
      select password from identity.accounts where password is not null order by created_at desc limit 2`.execute(
      server.deps.db,
    );
    const [one, other] = rows.map(({ password }) => password);
    for (const text of [one, other]) expect(text).toMatch(/^[0-9a-f]{32}:[0-9a-f]{128}$/);
    expect(one).not.toBe(other);
  });
});

describe("sessions", () => {
  test("have random tokens of at least 128 bits", async () => {
    const { email } = await signUp("xqzvkwpjfm one");
    const tokens = await Promise.all([1, 2].map(async () => (await signIn(email, "xqzvkwpjfm one")).json.token));
    // 5.9 bits per letter or digit
    for (const token of tokens) expect(token.length).toBeGreaterThanOrEqual(32);
    expect(tokens[0]).not.toBe(tokens[1]);
  });

  test("end with the person's account", async () => {
    const { owner } = await makePeople(server);
    expect((await server.ask("whoami", { as: owner })).status).toBe(200);
    await sql`delete from control.members where user_id = ${owner.id}`.execute(server.deps.db);
    await sql`delete from identity.users where id = ${owner.id}`.execute(server.deps.db);
    expect((await server.ask("whoami", { as: owner })).status).toBe(401);
  });
});

describe("requests and answers", () => {
  test("answers about an organization are never cached", async () => {
    const { org, owner } = await makePeople(server);
    const shown = await server.ask("orgShow", { params: { org: org.name }, as: owner });
    expect(shown.headers.get("cache-control")).toBe("no-store");
  });

  test("a GET request changes nothing, even with a method override header", async () => {
    const { org, owner } = await makePeople(server);
    const made = await server.ask("keyCreate", { params: { org: org.name }, body: { name: "ci" }, as: owner });
    expect(made.status).toBe(201);
    const path = CONTROL_ROUTES.keyDelete.path.replace(":org", org.name).replace(/:\w+$/, "ci");
    for (const name of ["x-http-method-override", "x-http-method", "x-method-override"]) {
      await server.send("GET", path, { as: owner, headers: { [name]: "DELETE" } });
    }
    const { json } = await server.ask("keyList", { params: { org: org.name }, as: owner });
    expect(JSON.stringify(json)).toContain('"ci"');
  });

  test("TRACE does not echo the request", async () => {
    const answer = await new Promise<{ status: number; said: string }>((resolve, reject) => {
      const asked = request(`${server.url}/v1/service`, { method: "TRACE", headers: { "x-secret": "a secret" } });
      asked.once("error", reject);
      asked.once("response", (response) => {
        text(response).then((said) => resolve({ status: response.statusCode ?? 0, said }), reject);
      });
      asked.end();
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.said).not.toContain("a secret");
  });

  test("unknown members are refused", async () => {
    const { org, owner } = await makePeople(server);
    const body = { email: "eve@example.com", is_owner: true };
    const made = await server.ask("invitationCreate", { params: { org: org.name }, body: body as never, as: owner });
    expect(made.json).toMatchObject({ code: "invalid_request" });
  });

  test("an unexpected error is answered without its text and logged with it", async () => {
    const { org, owner } = await makePeople(server);
    await sql`alter table control.webhooks rename to renamed_webhooks`.execute(server.deps.db);
    try {
      const asked = await server.ask("webhookList", { params: { org: org.name }, as: owner });
      expect(asked).toMatchObject({ status: 500, json: { code: "internal_error" } });
      expect(asked.text).not.toMatch(/webhooks"|relation|select/);
      const line = server.log.lines.findLast(({ level }) => level === "error");
      expect(String((line?.fields as { err?: unknown } | undefined)?.err)).toContain("control.webhooks");
    } finally {
      await sql`alter table control.renamed_webhooks rename to webhooks`.execute(server.deps.db);
    }
  });
});
