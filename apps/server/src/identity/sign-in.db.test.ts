import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestAnswer, type TestServer } from "../testing/open-server.ts";
import { makePeople, makePerson } from "../testing/people.ts";
import { openFirstAccount } from "./first-account.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer({ mail: true });
});

afterAll(() => server[Symbol.asyncDispose]());

// attempts count across the tests of a file: reset them before each
afterEach(async () => {
  await server.deps.db.deleteFrom("identity.attempts").execute();
});

const PASSWORD = "correct horse battery";
let count = 0;
const newAddress = () => `person${++count}@example.com`;

const auth = (route: string, body: unknown, headers: Record<string, string> = {}, on = server) =>
  on.send("POST", `/v1/auth/${route}`, { body, headers });
/** The session cookie of an answer, as a browser sends it back. */
const cookieOf = (answer: TestAnswer | undefined) => answer?.headers.getSetCookie()[0]?.split(";")[0] ?? "";

/** Creates an account with a password by invitation. */
async function signUp(email = newAddress()): Promise<TestAnswer> {
  const invitation = await invite(email);
  return await auth("sign-up/email", { email, name: "Ann", password: PASSWORD, invitation });
}

async function invite(email: string): Promise<string> {
  const { org, owner } = await makePeople(server);
  const made = await server.ask("invitationCreate", { params: { org: org.name }, body: { email }, as: owner });
  return new URL(made.json.url).searchParams.get("invitation") ?? "";
}

describe("the first account", () => {
  test("is created once with the printed token, and signed in", async () => {
    await using fresh = await openServer();
    const token = await openFirstAccount(fresh.deps.db);
    const account = { email: "first@example.com", name: "First", password: PASSWORD };
    expect((await fresh.ask("service", {})).json).toMatchObject({ sign_up: "first", mail: false, oidc: [] });
    const wrong = await fresh.ask("setUp", { body: { ...account, token: "x".repeat(43) } });
    expect(wrong.json).toMatchObject({ code: "unauthorized" });
    const weak = await fresh.ask("setUp", { body: { ...account, token: token ?? "", password: "short" } });
    expect(weak.json).toMatchObject({ code: "invalid_request", errors: [{ pointer: "/password" }] });
    const racers = await Promise.all(
      ["a@example.com", "b@example.com"].map((email) =>
        fresh.ask("setUp", { body: { ...account, email, token: token ?? "" } }),
      ),
    );
    expect(racers.map(({ status }) => status).sort()).toEqual([201, 409]);
    const made = racers.find(({ status }) => status === 201);
    expect((await fresh.ask("whoami", { as: { cookie: cookieOf(made) } })).json).toMatchObject({ kind: "user" });
    expect((await fresh.ask("service", {})).json).toMatchObject({ sign_up: "invitation" });
    expect(await openFirstAccount(fresh.deps.db)).toBeUndefined();
    const late = await fresh.ask("setUp", { body: { ...account, token: token ?? "" } });
    expect(late.json).toMatchObject({ code: "set_up_done" });
    expect(JSON.stringify(fresh.log.lines)).not.toContain(token);
  });

  test("must exist before other sign-ups", async () => {
    await using fresh = await openServer({ env: { SERVICE_SIGN_UP: "open" } });
    const answer = await auth("sign-up/email", { email: "a@b.co", name: "A", password: PASSWORD }, {}, fresh);
    expect(answer.json).toMatchObject({ code: "sign_up_closed" });
  });
});

describe("signing up", () => {
  test("accepts an invitation only for its address, and sets a session", async () => {
    const email = newAddress();
    const invitation = await invite(email);
    const account = { name: "Ann", password: PASSWORD };
    const other = await auth("sign-up/email", { ...account, email: newAddress(), invitation });
    expect(other.json).toMatchObject({ code: "sign_up_closed", status: 403 });
    const none = await auth("sign-up/email", { ...account, email });
    expect(none.json).toMatchObject({ code: "sign_up_closed" });
    const wrong = await auth("sign-up/email", { ...account, email, invitation: "x".repeat(43) });
    expect(wrong.json).toMatchObject({ code: "sign_up_closed" });
    const made = await auth("sign-up/email", { ...account, email: email.toUpperCase(), invitation });
    expect(made.status).toBe(200);
    const cookie = made.headers.getSetCookie()[0] ?? "";
    expect(cookie).toMatch(/^appdb\.session_token=.*; HttpOnly; SameSite=Lax$/);
    expect((await server.ask("whoami", { as: { cookie: cookieOf(made) } })).json).toMatchObject({ email });
    expect(made.headers.get("set-auth-token")).toBeNull();
  });

  test("refuses an easily guessed password", async () => {
    const email = newAddress();
    const invitation = await invite(email);
    const answer = await auth("sign-up/email", { email, name: "Ann", password: "Password123!", invitation });
    expect(answer.json).toMatchObject({ code: "weak_password", status: 422 });
    expect(answer.text).not.toContain("Password123!");
  });

  test("does not reveal accounts while it is closed", async () => {
    const { email } = await makePerson(server);
    const answers = await Promise.all(
      [email, newAddress()].map((address) => auth("sign-up/email", { email: address, name: "A", password: PASSWORD })),
    );
    const [theirs, nobodys] = answers.map(({ text }) => text.replace(/"instance":"[^"]*"/, ""));
    expect(theirs).toBe(nobodys);
  });

  test("is open to everyone if the operator opens it, once per address", async () => {
    await using open = await openServer({ env: { SERVICE_SIGN_UP: "open" } });
    await makePerson(open);
    const account = { email: "new@example.com", name: "New", password: PASSWORD };
    expect((await auth("sign-up/email", account, {}, open)).status).toBe(200);
    const again = await auth("sign-up/email", { ...account, email: "NEW@example.com" }, {}, open);
    expect(again.json).toMatchObject({ code: "account_exists", status: 409 });
  });

  test.each([
    [{ password: "short" }, "/password"],
    [{ password: "x".repeat(201) }, "/password"],
    [{ email: "nobody" }, "/email"],
    [{ name: "" }, "/name"],
    [{ name: "x".repeat(101) }, "/name"],
    [{ image: "http://example.com/a.png" }, "/"],
    [{ emailVerified: true }, "/"],
    [{ callbackURL: "https://evil.example" }, "/"],
  ])("refuses %j", async (change, pointer) => {
    const account = { email: newAddress(), name: "Ann", password: PASSWORD, ...change };
    const answer = await auth("sign-up/email", account);
    expect(answer.json).toMatchObject({ code: "invalid_request", errors: [{ pointer }] });
  });
});

describe("signing in", () => {
  test("works with address and password, ignoring the address's case", async () => {
    const email = newAddress();
    await signUp(email);
    const answer = await auth("sign-in/email", { email: email.toUpperCase(), password: PASSWORD });
    expect(answer.status).toBe(200);
    expect((await server.ask("whoami", { as: { cookie: cookieOf(answer) } })).json).toMatchObject({ email });
  });

  test("over https sets a cookie that no other host can set", async () => {
    await using secure = await openServer({
      env: { SERVICE_SIGN_UP: "open", SERVICE_PUBLIC_URL: "https://cloud.example.com" },
    });
    await makePerson(secure);
    const account = { email: "new@example.com", name: "New", password: PASSWORD };
    const answer = await auth("sign-up/email", account, {}, secure);
    expect(answer.headers.get("strict-transport-security")).toBe("max-age=31536000");
    const cookie = answer.headers.getSetCookie()[0] ?? "";
    expect(cookie).toMatch(/^__Host-appdb\.session_token=[^;]+; /);
    expect(cookie.split("; ").slice(1).sort()).toEqual([
      "HttpOnly",
      "Max-Age=2592000",
      "Path=/",
      "SameSite=Lax",
      "Secure",
    ]);
    expect((await secure.ask("whoami", { as: { cookie: cookieOf(answer) } })).status).toBe(200);
    for (const name of ["__Secure-appdb", "appdb"]) {
      const planted = cookieOf(answer).replace("__Host-appdb", name);
      expect((await secure.ask("whoami", { as: { cookie: planted } })).status).toBe(401);
    }
  });

  test("sends HSTS only if the server uses https", async () => {
    const answer = await server.send("GET", "/v1/service");
    expect(answer.headers.get("strict-transport-security")).toBeNull();
  });

  test("gives the same answer for a wrong password and an unknown account", async () => {
    const email = newAddress();
    await signUp(email);
    const answers = await Promise.all(
      [email, newAddress()].map((address) => auth("sign-in/email", { email: address, password: "wrong wrong wrong" })),
    );
    expect(answers.map(({ json }) => json.code)).toEqual(["sign_in_failed", "sign_in_failed"]);
    const [theirs, nobodys] = answers.map(({ text }) => text.replace(/"instance":"[^"]*"/, ""));
    expect(theirs).toBe(nobodys);
  });

  test("is limited per account, even with the right password, with the remaining time", async () => {
    const email = newAddress();
    await signUp(email);
    const guesses = await Promise.all(
      Array.from({ length: 12 }, () => auth("sign-in/email", { email, password: "wrong wrong wrong" })),
    );
    const codes = guesses.map(({ json }) => json.code);
    expect(codes.filter((code) => code === "sign_in_failed")).toHaveLength(10);
    expect(codes.filter((code) => code === "too_many_attempts")).toHaveLength(2);
    const right = await auth("sign-in/email", { email: email.toUpperCase(), password: PASSWORD });
    expect(right.json).toMatchObject({ code: "too_many_attempts", status: 429 });
    expect(Number(right.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  const guess = (email: string) => auth("sign-in/email", { email, password: "wrong wrong wrong" });
  const deviceOf = (answer: TestAnswer) =>
    answer.headers
      .getSetCookie()
      .find((text) => text.includes("known_device="))
      ?.split(";")[0] ?? "";

  test("guesses of strangers do not lock out a known browser", async () => {
    const email = newAddress();
    await signUp(email);
    const cookie = deviceOf(await auth("sign-in/email", { email, password: PASSWORD }));
    await Promise.all(Array.from({ length: 12 }, () => guess(email)));
    const right = (headers: Record<string, string>) => auth("sign-in/email", { email, password: PASSWORD }, headers);
    expect((await right({})).json).toMatchObject({ code: "too_many_attempts" });
    expect((await right({ cookie, origin: server.url })).status).toBe(200);
  });

  test("guesses of a known browser are limited too", async () => {
    const email = newAddress();
    await signUp(email);
    const cookie = deviceOf(await auth("sign-in/email", { email, password: PASSWORD }));
    const codes = await Promise.all(
      Array.from({ length: 11 }, async () => {
        const body = { email, password: "wrong wrong wrong" };
        return (await auth("sign-in/email", body, { cookie, origin: server.url })).json.code;
      }),
    );
    expect(codes.filter((code) => code === "too_many_attempts")).toHaveLength(1);
  });

  test("a browser is known only for its own account", async () => {
    const [email, other] = [newAddress(), newAddress()];
    await signUp(email);
    await signUp(other);
    const cookie = deviceOf(await auth("sign-in/email", { email: other, password: PASSWORD }));
    await Promise.all(Array.from({ length: 10 }, () => guess(email)));
    const answer = await auth("sign-in/email", { email, password: PASSWORD }, { cookie, origin: server.url });
    expect(answer.json).toMatchObject({ code: "too_many_attempts" });
  });

  test("guesses from many networks are limited per account", async () => {
    const email = newAddress();
    await signUp(email);
    await server.deps.attempts.take("sign_in_account", email);
    await server.deps.db
      .updateTable("identity.attempts")
      .set({ count: 100 })
      .where("kind", "=", "sign_in_account")
      .execute();
    expect((await guess(email)).json).toMatchObject({ code: "too_many_attempts" });
  });

  test("is limited per address, ignoring forged proxy headers", async () => {
    await server.deps.attempts.take("sign_in_address", "127.0.0.1");
    await server.deps.db.updateTable("identity.attempts").set({ count: 100 }).execute();
    const answer = await auth(
      "sign-in/email",
      { email: newAddress(), password: PASSWORD },
      { "x-forwarded-for": "203.0.113.9", "x-resolved-address": "203.0.113.9", forwarded: "for=203.0.113.9" },
    );
    expect(answer.json).toMatchObject({ code: "too_many_attempts" });
  });

  test("creates a new session each time, ignoring a sent cookie", async () => {
    const email = newAddress();
    const first = cookieOf(await signUp(email));
    const planted = "appdb.session_token=planted.AAAA";
    const signIn = (cookie: string) =>
      auth("sign-in/email", { email, password: PASSWORD }, { cookie, origin: server.url });
    const [over, beside] = [await signIn(first), await signIn(planted)];
    expect(new Set([first, planted, cookieOf(over), cookieOf(beside)]).size).toBe(4);
    expect((await server.ask("whoami", { as: { cookie: planted } })).status).toBe(401);
  });

  test("signing out ends a browser session", async () => {
    const cookie = cookieOf(await signUp());
    const out = await auth("sign-out", {}, { cookie, origin: server.url });
    expect(out.status).toBe(200);
    expect(out.headers.getSetCookie()[0]).toContain("Max-Age=0");
    expect((await server.ask("whoami", { as: { cookie } })).status).toBe(401);
  });

  test("signing out ends a terminal session", async () => {
    const ann = await makePerson(server);
    const out = await auth("sign-out", {}, { authorization: `Bearer ${ann.token}` });
    expect(out.status).toBe(200);
    expect((await server.ask("whoami", { as: ann })).status).toBe(401);
  });
});

describe("a new password", () => {
  const linkOf = (email: string) => server.mails.findLast(({ to }) => to === email)?.text ?? "";
  const tokenOf = (email: string) => /\/reset\?token=(\S+)/.exec(linkOf(email))?.[1] ?? "";

  test("is set with the mailed link, once, and ends all sessions", async () => {
    const email = newAddress();
    const cookie = cookieOf(await signUp(email));
    expect((await auth("request-password-reset", { email, redirectTo: "/reset" })).status).toBe(200);
    await expect.poll(() => tokenOf(email)).not.toBe("");
    const token = tokenOf(email);
    const weak = await auth("reset-password", { token, newPassword: "iloveyou2024" });
    expect(weak.json).toMatchObject({ code: "weak_password" });
    const renewed = await auth("reset-password", { token, newPassword: "another good password" });
    expect(renewed.status).toBe(200);
    expect((await server.ask("whoami", { as: { cookie } })).status).toBe(401);
    expect((await auth("sign-in/email", { email, password: PASSWORD })).status).toBe(401);
    expect((await auth("sign-in/email", { email, password: "another good password" })).status).toBe(200);
    const again = await auth("reset-password", { token, newPassword: "a third good password" });
    expect(again.json).toMatchObject({ code: "reset_expired", status: 410 });
    expect(JSON.stringify(server.log.lines)).not.toContain(token);
  });

  test("gives the same answer for an unknown account", async () => {
    const email = newAddress();
    await signUp(email);
    const answers = await Promise.all(
      [email, newAddress()].map((address) => auth("request-password-reset", { email: address })),
    );
    expect(answers[0]?.text).toBe(answers[1]?.text);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  test("cannot be requested from a server without mail", async () => {
    await using silent = await openServer();
    const answer = await auth("request-password-reset", { email: "a@b.co" }, {}, silent);
    expect(answer.json).toMatchObject({ code: "no_mail", hint: expect.stringContaining("reset-link") });
  });

  test.each(["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"])(
    "does not redirect to %s",
    async (redirectTo) => {
      const answer = await auth("request-password-reset", { email: newAddress(), redirectTo });
      expect(answer.json).toMatchObject({ code: "invalid_request", errors: [{ pointer: "/redirectTo" }] });
    },
  );
});

describe("requests from other sites", () => {
  test.each([
    [{ origin: "https://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "same-site" }, 403],
    [{}, 403],
  ])("a change with a cookie and %j is refused", async (headers, status) => {
    const { org, owner } = await makePeople(server);
    const answer = await server.send("PATCH", `/v1/orgs/${org.name}`, {
      body: { display_name: "Changed" },
      headers: { ...owner.browser, ...headers },
    });
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ code: "csrf_refused" });
  });

  test.each([{ "sec-fetch-site": "same-origin" }, { origin: "ours" }])(
    "our own request with %j is accepted",
    async (headers) => {
      const { org, owner } = await makePeople(server);
      const own = "origin" in headers ? { origin: server.url } : headers;
      const answer = await server.send("PATCH", `/v1/orgs/${org.name}`, {
        body: { display_name: "Changed" },
        headers: { ...owner.browser, ...own },
      });
      expect(answer.status).toBe(200);
    },
  );

  test("another site cannot sign anyone in", async () => {
    const body = { email: newAddress(), password: PASSWORD };
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }] as const) {
      expect((await auth("sign-in/email", body, headers as Record<string, string>)).json.code).toBe("csrf_refused");
    }
  });

  test.each(["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"])(
    "a form body is not read: %s",
    async (type) => {
      const answer = await auth("sign-in/email", '{"email":"a@b.co","password":"x"}', { "content-type": type });
      expect(answer.status).toBe(415);
    },
  );

  test("no CORS header lets another site read answers", async () => {
    const answer = await server.send("GET", "/v1/service", { headers: { origin: "https://evil.example" } });
    expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });
});

test.each([
  ["GET", "/v1/auth/get-session"],
  ["POST", "/v1/auth/update-user"],
  ["POST", "/v1/auth/change-email"],
  ["POST", "/v1/auth/delete-user"],
  ["GET", "/v1/auth/list-sessions"],
  ["POST", "/v1/auth/link-social"],
  ["GET", "/v1/auth/reset-password/x?callbackURL=https://evil.example"],
  ["GET", "/v1/auth/device?user_code=ABCD1234"],
  ["GET", "/v1/auth/error"],
  ["GET", "/v1/auth/verify-email?token=x&callbackURL=https://evil.example"],
])("better-auth's other routes do not exist: %s %s", async (method, path) => {
  const ann = await makePerson(server);
  const answer = await server.send(method, path, { as: ann, ...(method === "POST" ? { body: {} } : {}) });
  expect(answer.json).toMatchObject({ code: "not_found" });
});
