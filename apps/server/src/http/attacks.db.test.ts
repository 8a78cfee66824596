import { once } from "node:events";
import { connect } from "node:net";
import { VERSION } from "@appdb/contract/version";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../testing/open-server.ts";
import { makePeople, makePerson } from "../testing/people.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer();
});

afterAll(() => server[Symbol.asyncDispose]());

/** Sends raw bytes. Returns what arrives until the server closes the connection or has sent `answers` answers. */
async function raw(text: string, answers = 1): Promise<string> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  let got = "";
  const ended = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      got += chunk.toString("latin1");
      if (got.split("HTTP/1.1 ").length > answers && /\r\n\r\n/.test(got)) resolve();
    });
    socket.on("close", () => resolve());
    socket.on("error", () => resolve());
  });
  await once(socket, "connect");
  socket.write(text);
  await ended;
  socket.destroy();
  return got;
}

const status = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);

describe("bodies", () => {
  const BODIES: readonly (readonly [body: string, code: string, status: number])[] = [
    ["{", "invalid_json", 400],
    ["", "invalid_json", 400],
    ['{"name":"x"', "invalid_json", 400],
    ['{"__proto__":{"role":"owner"},"name":"x-proto"}', "invalid_json", 400],
    ['{"name":"x","constructor":{"prototype":{}}}', "invalid_json", 400],
    ["[]", "invalid_request", 422],
    ["null", "invalid_request", 422],
    ['"name"', "invalid_request", 422],
    ['{"name":1}', "invalid_request", 422],
    ['{"name":"acme","role":"owner"}', "invalid_request", 422],
    [`{"name":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, "invalid_request", 422],
    [`{"name":"${"x".repeat(400_000)}"}`, "payload_too_large", 413],
  ];

  test.each(BODIES.map(([body, code, expected]) => [code, body.slice(0, 40), expected, body] as const))(
    "%s: %s",
    async (code, _begin, expected, body) => {
      const answer = await server.ask("orgCreate", { body, as: await makePerson(server) } as never);
      expect(answer.json).toMatchObject({ code, status: expected });
      expect(answer.text.length).toBeLessThan(5_000);
    },
  );

  test("a guest's body is not read", async () => {
    const answer = await server.send("POST", "/v1/orgs", { body: "x".repeat(400_000) });
    expect(answer.json).toMatchObject({ code: "unauthorized" });
  });
});

describe("names", () => {
  test.each([
    ["Cyrillic a", "аcme"],
    ["full width", "ａcme"],
    ["a zero-width joiner", "ac‍me"],
    ["a soft hyphen", "ac­me"],
    ["right-to-left", "‮acme"],
    ["upper case", "Acme"],
    ["the long s", "acmeſ"],
    ["the Kelvin sign", "K-acme"],
    ["a combining accent", "acmé"],
    ["a space behind", "acme "],
    ["a line break behind", "acme\n"],
    ["a null", "acme\0"],
    ["SQL", "acme'; drop table control.organizations; --"],
    ["a path", "../acme"],
    ["a colon", "acme:main"],
    ["a hyphen behind", "acme-"],
    ["nothing", ""],
  ])("refuses the name %s", async (_what, name) => {
    const ann = await makePerson(server);
    const answer = await server.ask("orgCreate", { body: { name }, as: ann });
    expect(answer.json).toMatchObject({ code: "invalid_name" });
    const shown = await server.ask("orgShow", { params: { org: name }, as: ann });
    expect([404, 422]).toContain(shown.status);
    // control characters are not echoed to a terminal
    expect(shown.json.detail ?? "").not.toMatch(/[\p{Cc}\u202e]/u);
  });

  test.each(["' or 1=1 --", "%00", "%27%29%3B%20select%20pg_sleep(9)--", "..%2f..%2fv1"])(
    "finds nothing at the path %s",
    async (part) => {
      const { owner } = await makePeople(server);
      const answer = await server.send("GET", `/v1/orgs/${encodeURI(part)}`, { as: owner });
      expect([404, 422]).toContain(answer.status);
    },
  );

  test("refuses an invalid % escape and a part that is too long", async () => {
    const { owner } = await makePeople(server);
    expect((await server.send("GET", "/v1/orgs/%ff%fe", { as: owner })).json).toMatchObject({
      code: "invalid_request",
    });
    const long = await server.send("GET", `/v1/orgs/${"x".repeat(600)}`, { as: owner });
    expect([404, 414, 422]).toContain(long.status);
  });
});

describe("headers", () => {
  test("a request that a proxy could split is refused", async () => {
    const head = "POST /v1/auth/sign-in/email HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    const smuggled = "GET /v1/service HTTP/1.1\r\nhost: x\r\n\r\n";
    const both = await raw(`${head}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`);
    expect(status(both)).toBe(400);
    expect(both.split("HTTP/1.1 ")).toHaveLength(2);
    const lengths = await raw(`${head}content-length: 2\r\ncontent-length: 40\r\n\r\n{}${smuggled}`);
    expect(status(lengths)).toBe(400);
    const folded = await raw(`GET /v1/whoami HTTP/1.1\r\nhost: x\r\nx-api-key: a\r\n b\r\n\r\n`);
    expect([400, 401]).toContain(status(folded));
    const spaced = await raw(`GET /v1/whoami HTTP/1.1\r\nhost: x\r\nauthorization : Bearer x\r\n\r\n`);
    expect(status(spaced)).toBe(400);
  });

  test("a repeated credential is refused", async () => {
    const ann = await makePerson(server);
    const twice = await raw(
      `GET /v1/whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ann.token}\r\nx-api-key: a\r\nx-api-key: b\r\nconnection: close\r\n\r\n`,
    );
    expect(status(twice)).toBe(401);
  });

  test("a forged address or host changes no link and no event", async () => {
    await using mailed = await openServer({ mail: true });
    const { org, owner } = await makePeople(mailed);
    const made = await mailed.ask("invitationCreate", {
      params: { org: org.name },
      body: { email: "guest@example.com" },
      as: owner,
      headers: { "x-forwarded-host": "evil.example", "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https" },
    });
    expect(made.json.url).toContain(`${mailed.url}/sign-up?`);
    expect(JSON.stringify(mailed.mails)).not.toContain("evil.example");
    const events = await mailed.ask("eventList", { params: { org: org.name }, as: owner });
    expect(events.text).toContain("127.0.0.1");
    expect(events.text).not.toContain("203.0.113.9");
  });

  test("a harmless request id is accepted", async () => {
    const own = await server.send("GET", "/v1/service", { headers: { "x-request-id": "abc-1" } });
    expect(own.headers.get("x-request-id")).toBe("abc-1");
    const evil = await server.send("GET", "/v1/service", { headers: { "x-request-id": 'a"},{"level":"error' } });
    expect(evil.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("an old CLI version gets upgrade instructions", async () => {
    const answer = await server.send("GET", "/v1/service", { headers: { "x-client-version": "0.7.9" } });
    expect(answer.json).toMatchObject({
      code: "client_too_old",
      status: 426,
      hint: expect.stringContaining("pip install --upgrade"),
    });
    expect(answer.headers.get("x-server-version")).toBe(VERSION);
  });
});

test("a NUL character is refused everywhere", async () => {
  const { org, owner } = await makePeople(server);
  const named = await server.ask("orgUpdate", { params: { org: org.name }, body: { display_name: "a\0b" }, as: owner });
  expect(named.json).toMatchObject({ code: "invalid_request" });
  const revoked = await server.ask("sessionRevoke", { params: { id: "a\0b" }, as: owner });
  expect(revoked.json).toMatchObject({ code: "invalid_request" });
});

test("no log line contains a credential, a body or a request path", async () => {
  const { org, owner } = await makePeople(server);
  await server.ask("orgUpdate", {
    params: { org: org.name },
    body: { display_name: '\n{"level":"error"}' },
    as: owner,
  });
  await server.send("POST", "/v1/auth/sign-in/email", {
    body: { email: "log@example.com", password: "logged password" },
  });
  await server.ask("invitationShow", { params: { token: "logged-token-of-an-invitation" } });
  const lines = JSON.stringify(server.log.lines);
  for (const secret of [owner.token, "logged password", "logged-token-of-an-invitation"])
    expect(lines).not.toContain(secret);
  expect(server.log.lines.every(({ message }) => !message.includes("\n"))).toBe(true);
});

test("a route without a permission, and a duplicate one, cannot be registered", async () => {
  await using fresh = await openServer({ env: { SERVICE_ROLES: "reconciler" } });
  expect((await fresh.send("GET", "/v1/whoami")).status).toBe(404);
  expect((await fresh.send("GET", "/health")).status).toBe(200);
  expect(server.routes.missing()).toEqual([]);
  expect(() => server.routes.add("service", async () => undefined)).toThrow("registered twice");
});
