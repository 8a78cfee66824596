import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type OidcServer, startOidcServer } from "../testing/oidc-server.ts";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, makePerson } from "../testing/people.ts";

let oidc: OidcServer;
let server: TestServer;

beforeAll(async () => {
  oidc = await startOidcServer({ sub: "nobody", email: "nobody@example.com", email_verified: true });
  server = await openServer({
    env: {
      SERVICE_OIDC_ISSUER: oidc.issuer,
      SERVICE_OIDC_CLIENT_ID: oidc.client_id,
      SERVICE_OIDC_CLIENT_SECRET: oidc.client_secret,
      SERVICE_OIDC_NAME: "Example Login",
    },
  });
  oidc.allow(`${server.url}/v1/auth/callback/oidc`);
  await makePerson(server);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await oidc[Symbol.asyncDispose]();
});

let count = 0;
beforeEach(() => {
  count += 1;
  oidc.person = { sub: `sub-${count}`, email: `oidc${count}@example.com`, email_verified: true, name: "Olga" };
});

/** A browser with cookies by host that follows redirects until one of our pages. */
class Browser {
  readonly #jar = new Map<string, Map<string, string>>();

  async go(url: string, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url);
    const cookies = this.#jar.get(host) ?? new Map<string, string>();
    this.#jar.set(host, cookies);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(init.headers as Record<string, string>), ...(cookie === "" ? {} : { cookie }) };
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const text of response.headers.getSetCookie()) {
      const [pair = ""] = text.split(";");
      const equals = pair.indexOf("=");
      cookies.set(pair.slice(0, equals), pair.slice(equals + 1));
    }
    return response;
  }

  /** Follows redirects to a page of the dashboard, or to an answer without one. */
  async follow(url: string): Promise<string> {
    let at = url;
    for (let step = 0; step < 20; step++) {
      const response = await this.go(at);
      const location = response.headers.get("location");
      await response.body?.cancel();
      if (location === null) throw new Error(`${at} answers ${response.status}`);
      at = new URL(location, at).href;
      if (at.startsWith(server.url) && !at.includes("/v1/auth/")) return at.slice(server.url.length);
    }
    throw new Error("Too many redirects.");
  }

  cookie(): string {
    return [...(this.#jar.get(new URL(server.url).host) ?? [])].map(([name, value]) => `${name}=${value}`).join("; ");
  }
}

async function begin(browser: Browser, callbackURL?: string): Promise<Response> {
  return await browser.go(`${server.url}/v1/auth/sign-in/oauth2`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: server.url },
    body: JSON.stringify({ providerId: "oidc", ...(callbackURL === undefined ? {} : { callbackURL }) }),
  });
}

async function signIn(callbackURL = "/orgs"): Promise<{ end: string; whoami: { email?: string; code?: string } }> {
  const browser = new Browser();
  const started = (await (await begin(browser, callbackURL)).json()) as { url: string };
  const end = await browser.follow(started.url);
  const whoami = await server.send("GET", "/v1/whoami", { headers: { cookie: browser.cookie() } });
  return { end, whoami: whoami.json };
}

async function invite(email: string): Promise<void> {
  const { org, owner } = await makePeople(server);
  await server.ask("invitationCreate", { params: { org: org.name }, body: { email }, as: owner });
}

describe("signing in with a provider", () => {
  test("creates an account for an invited, verified address, and finds it again", async () => {
    await invite(oidc.person.email);
    const first = await signIn("/orgs");
    expect(first).toMatchObject({ end: "/orgs", whoami: { email: oidc.person.email } });
    const again = await signIn("/");
    expect(again.whoami).toEqual({ ...first.whoami, expires_at: expect.any(String) });
    const { db } = server.deps;
    const users = await db.selectFrom("identity.users").select("name").where("email", "=", oidc.person.email).execute();
    expect(users).toEqual([{ name: "Olga" }]);
  });

  test("creates no account without an invitation", async () => {
    const { end, whoami } = await signIn();
    expect(end).toMatch(/^\/sign-in\?error=/);
    expect(whoami).toMatchObject({ code: "unauthorized" });
  });

  test("creates no account for an unverified invited address", async () => {
    await invite(oidc.person.email);
    oidc.person = { ...oidc.person, email_verified: false };
    const { end, whoami } = await signIn();
    expect(end).toMatch(/^\/sign-in\?error=/);
    expect(whoami).toMatchObject({ code: "unauthorized" });
  });

  test("cannot take over an account with an unverified address", async () => {
    const ann = await makePerson(server);
    oidc.person = { ...oidc.person, email: ann.email, email_verified: false };
    const { whoami } = await signIn();
    expect(whoami).toMatchObject({ code: "unauthorized" });
  });

  test("is offered under the provider's name", async () => {
    expect((await server.ask("service", {})).json.oidc).toEqual([{ id: "oidc", name: "Example Login" }]);
  });
});

describe("attacks on it", () => {
  test.each(["https://evil.example/", "//evil.example", "/\\evil.example", "http:evil", "/\tevil"])(
    "does not redirect to %j",
    async (callbackURL) => {
      const answer = await begin(new Browser(), callbackURL);
      expect(answer.status).toBe(422);
    },
  );

  test("the provider's answer is accepted only in the requesting browser", async () => {
    await invite(oidc.person.email);
    const [asker, victim] = [new Browser(), new Browser()];
    const { url } = (await (await begin(asker)).json()) as { url: string };
    let at = url;
    while (!at.startsWith(server.url)) {
      const response = await asker.go(at);
      at = new URL(response.headers.get("location") ?? "", at).href;
      await response.body?.cancel();
    }
    const end = await victim.follow(at);
    expect(end).toMatch(/error=/);
    const whoami = await server.send("GET", "/v1/whoami", { headers: { cookie: victim.cookie() } });
    expect(whoami.status).toBe(401);
  });

  test("an answer is valid once", async () => {
    await invite(oidc.person.email);
    const browser = new Browser();
    const { url } = (await (await begin(browser)).json()) as { url: string };
    let at = url;
    while (!at.startsWith(server.url)) {
      const response = await browser.go(at);
      at = new URL(response.headers.get("location") ?? "", at).href;
      await response.body?.cancel();
    }
    expect(await browser.follow(at)).not.toMatch(/error=/);
    expect(await browser.follow(at)).toMatch(/error=/);
  });

  test.each(["", "?code=x", "?state=x&code=y", "?error=access_denied", "?callbackURL=https://evil.example"])(
    "a forged answer %j leads to our own sign-in",
    async (query) => {
      const response = await fetch(`${server.url}/v1/auth/callback/oidc${query}`, { redirect: "manual" });
      const location = new URL(response.headers.get("location") ?? "", server.url);
      expect(location.origin).toBe(server.url);
      expect(location.search).toContain("error=");
      expect(
        response.headers
          .getSetCookie()
          .filter((text) => text.includes("session_token=") && !text.includes("Max-Age=0")),
      ).toEqual([]);
    },
  );
});

test("the provider's secret is never logged, and its tokens are never stored", async () => {
  await invite(oidc.person.email);
  await signIn();
  const logged = JSON.stringify(server.log.lines);
  expect(logged).not.toContain(oidc.client_secret);
  const found = await server.deps.pool.query<Record<string, string | null>>(
    "select access_token, refresh_token, id_token from identity.accounts where provider_id = 'oidc'",
  );
  expect(found.rows.length).toBeGreaterThan(0);
  for (const row of found.rows) expect(Object.values(row)).toEqual([null, null, null]);
});
