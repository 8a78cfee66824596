import { CONTROL_ROUTES, type ControlRouteName } from "@appdb/contract/routes/control-paths";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Credential, openServer, type TestAnswer, type TestServer } from "../testing/open-server.ts";
import { makeKey, makePeople, type TestPeople } from "../testing/people.ts";

let server: TestServer;
let people: TestPeople;
const keys: Record<string, string> = {};
beforeAll(async () => {
  server = await openServer();
  people = await makePeople(server);
  for (const [name, grants] of Object.entries({
    own: [],
    granted: [`manage:cloud://${people.other_org.name}:main/services`],
  })) {
    keys[name] = await makeKey(server, people.other_org, people.outsider, { name, grants });
  }
});
afterAll(() => server[Symbol.asyncDispose]());

/** An unused name of the same length as the people's. */
const nobodys = () => `${people.org.name.slice(0, -3)}${people.org.name.endsWith("zzz") ? "yyy" : "zzz"}`;
const STRANGERS: Readonly<Record<string, () => Credential>> = {
  guest: () => ({}),
  "owner of another organization": () => ({ token: people.outsider.token }),
  "key of another organization": () => ({ api_key: keys["own"] ?? "" }),
  "key with grants in another organization": () => ({ api_key: keys["granted"] ?? "" }),
};
const ROUTES = (Object.keys(CONTROL_ROUTES) as ControlRouteName[]).filter((name) =>
  CONTROL_ROUTES[name].path.includes(":org"),
);

describe.each(Object.keys(STRANGERS))("a stranger (%s) learns nothing about an organization", (who) => {
  test.each(ROUTES)("by %s", async (route) => {
    const ask = async (org: string) => {
      const path = CONTROL_ROUTES[route].path.replace(":org", org).replaceAll(/:[a-z]+/g, "main");
      const { method } = CONTROL_ROUTES[route];
      const body = method === "GET" || method === "DELETE" ? undefined : {};
      const headers = { "x-request-id": "the-same", "idempotency-key": "the-same" };
      return seen(await server.send(method, path, { as: STRANGERS[who]?.(), body, headers }), org);
    };
    const there = await ask(people.org.name);
    expect(there).toEqual(await ask(nobodys()));
    expect(there).toMatch(who === "guest" ? /^401 / : /^404 .*organization_not_found/s);
  });
});

/** The whole answer, without the requested name and the time. */
function seen({ status, headers, text }: TestAnswer, org: string): string {
  const shown = [...headers].filter(([name]) => name !== "date");
  return `${status} ${JSON.stringify(shown)} ${text}`.replaceAll(org, "ORG");
}

describe.each(["/v1/whoami", "/v1/service", "/v1/no-such-route"])(
  "the build of the server in answers of %s",
  (path) => {
    const buildFor = async (as: Credential) => (await server.send("GET", path, { as })).headers.get("x-server-build");

    test("is for callers with valid credentials", async () => {
      expect(await buildFor({ token: people.owner.token })).toBe("source");
      expect(await buildFor({ api_key: keys["own"] ?? "" })).toBe("source");
    });

    test("is not for strangers", async () => {
      expect(await buildFor({})).toBeNull();
      expect(await buildFor({ token: "a".repeat(43) })).toBeNull();
      expect(await buildFor({ api_key: "wrong" })).toBeNull();
    });
  },
);

test("an unknown route is not found for a member too", async () => {
  const { json, status } = await server.send("GET", "/v1/no-such-route", { as: { token: people.owner.token } });
  expect([status, json]).toEqual([404, expect.objectContaining({ code: "not_found" })]);
});
