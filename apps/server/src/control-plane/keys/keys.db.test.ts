import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makeKey, makePeople, makePerson, type TestPeople } from "../../testing/people.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";

interface KeySetup extends TestPeople {
  /** Created by the member. */
  readonly own: string;
  /** Created by the owner: acts as the owner. */
  readonly owners: string;
  /** Created by the owner, with a grant. */
  readonly granted: string;
  readonly foreign: string;
}

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const GRANT = "access:cloud://ORG:main/services/ingest";

async function openSetup(at: TestServer): Promise<KeySetup> {
  const setup = await makePeople(at);
  const { name } = setup.org;
  return {
    ...setup,
    own: await makeKey(at, setup.org, setup.member, { name: "own" }),
    owners: await makeKey(at, setup.org, setup.owner, { name: "owners" }),
    granted: await makeKey(at, setup.org, setup.owner, { name: "granted", grants: [GRANT.replace("ORG", name)] }),
    foreign: await makeKey(server, setup.other_org, setup.outsider, { name: "foreign" }),
  };
}

const key = (name: "own" | "owners" | "granted" | "foreign") => ({
  as: (setup: KeySetup) => ({ api_key: setup[name] }),
  named: `key ${name}`,
});
const secretOf = (name: "own" | "owners" | "granted") => (setup: KeySetup) => setup[name].slice(-43);
const otherName = (setup: KeySetup) => setup.other_org.name;
const body = { name: "new" };
const ROWS: Scenario<KeySetup>[] = [
  { as: "guest", route: "keyList", status: 401, excludes: ["owners"] },
  ...(["member", "admin", "owner"] as const).map(
    (as): Scenario<KeySetup> => ({
      as,
      route: "keyList",
      status: 200,
      includes: ['"granted"', '"own"', '"owners"', "services/ingest"],
      excludes: [secretOf("own"), secretOf("owners"), secretOf("granted"), "hash", "foreign", otherName],
    }),
  ),
  { ...key("own"), route: "keyList", status: 200, includes: ['"own"'], excludes: [secretOf("own")] },
  { as: "outsider", route: "keyList", status: 404, includes: ["organization_not_found"], excludes: ["owners"] },
  { ...key("foreign"), route: "keyList", status: 404, includes: ["organization_not_found"], excludes: ["owners"] },
  { ...key("granted"), route: "keyList", status: 404, includes: ["organization_not_found"], excludes: ["owners"] },

  { as: "guest", route: "keyCreate", body, status: 401 },
  { as: "member", route: "keyCreate", body, status: 201, includes: ['"api_key":"sk_'] },
  { as: "admin", route: "keyCreate", body, status: 201 },
  { as: "owner", route: "keyCreate", body, status: 201 },
  { ...key("own"), route: "keyCreate", body, status: 201 },
  { as: "outsider", route: "keyCreate", body, status: 404, excludes: ["sk_"] },
  { ...key("granted"), route: "keyCreate", body, status: 404, excludes: ["sk_"] },
  { ...key("foreign"), route: "keyCreate", body, status: 404, excludes: ["sk_"] },
  {
    as: "member",
    route: "keyCreate",
    named: "member, twice",
    body: { name: "own" },
    status: 409,
    includes: ["key_taken"],
  },
  {
    as: "member",
    named: "member, with a grant of another organization",
    route: "keyCreate",
    body: (setup: KeySetup) => ({ name: "x", grants: [`access:cloud://${setup.other_org.name}:main`] }),
    status: 422,
    includes: ["invalid_grant"],
  },
  ...["", "a b", "..", "х", "a\u0000", "x".repeat(64)].map(
    (name): Scenario<KeySetup> => ({
      as: "member",
      named: `member, named ${JSON.stringify(name).slice(0, 12)}`,
      route: "keyCreate",
      body: { name },
      status: 422,
      includes: ["invalid_name"],
      excludes: ["sk_"],
    }),
  ),
  ...[
    { grants: ["nonsense"] },
    { grants: ["manage:cloud://acme:main"] },
    { grants: "x" },
    { expires_in_s: 0 },
    { expires_in_s: 1e12 },
    { admin: true },
  ].map(
    (more): Scenario<KeySetup> => ({
      as: "member",
      named: `member, with ${JSON.stringify(more)}`,
      route: "keyCreate",
      body: { name: "x", ...more },
      status: 422,
      excludes: ["sk_"],
    }),
  ),

  { as: "guest", route: "keyDelete", params: { name: "own" }, status: 401 },
  { as: "member", named: "member, own", route: "keyDelete", params: { name: "own" }, status: 204 },
  { as: "member", named: "member, another's", route: "keyDelete", params: { name: "owners" }, status: 403 },
  { as: "admin", route: "keyDelete", params: { name: "owners" }, status: 204 },
  { as: "owner", route: "keyDelete", params: { name: "own" }, status: 204 },
  { ...key("own"), route: "keyDelete", params: { name: "owners" }, status: 403 },
  { ...key("granted"), route: "keyDelete", params: { name: "own" }, status: 404 },
  { as: "outsider", route: "keyDelete", params: { name: "own" }, status: 404, includes: ["organization_not_found"] },
  {
    as: "owner",
    named: "owner, none",
    route: "keyDelete",
    params: { name: "none" },
    status: 404,
    includes: ["key_not_found"],
  },
  {
    as: "owner",
    named: "owner, of another organization",
    route: "keyDelete",
    params: { name: "foreign" },
    status: 404,
  },

  { as: "guest", route: "keyRotate", params: { name: "own" }, body: {}, status: 401 },
  {
    as: "member",
    named: "member, own",
    route: "keyRotate",
    params: { name: "own" },
    body: {},
    status: 200,
    includes: ["sk_"],
  },
  { as: "member", named: "member, another's", route: "keyRotate", params: { name: "granted" }, body: {}, status: 403 },
  { as: "admin", named: "admin, with grants", route: "keyRotate", params: { name: "granted" }, body: {}, status: 200 },
  {
    as: "admin",
    named: "admin, one that acts as the owner",
    route: "keyRotate",
    params: { name: "owners" },
    body: {},
    status: 403,
    includes: ["acts as its creator"],
    excludes: ["sk_"],
  },
  { as: "outsider", route: "keyRotate", params: { name: "own" }, body: {}, status: 404, excludes: ["sk_"] },
  { ...key("granted"), route: "keyRotate", params: { name: "granted" }, body: {}, status: 404, excludes: ["sk_"] },
  { as: "owner", route: "keyRotate", params: { name: "owners" }, body: { overlap_s: -1 }, status: 422 },
];

describe("who may do what with keys", () => {
  testScenarios(() => server, openSetup, ROWS);
});

describe("an API key", () => {
  const whoami = async (apiKey: string, headers: Record<string, string> = {}) =>
    await server.ask("whoami", { as: { api_key: apiKey }, headers } as never);

  test("without grants acts as its creator, with their current role", async () => {
    const setup = await openSetup(server);
    expect((await whoami(setup.own)).json).toMatchObject({
      kind: "key",
      email: setup.member.email,
      organization: { name: setup.org.name, role: "member" },
      key: { name: "own", grants: [] },
    });
    const settings = { as: { api_key: setup.own }, params: { org: setup.org.name, name: "A" }, body: { value: "1" } };
    expect((await server.ask("secretSet", settings)).status).toBe(403);
    await server.deps.db
      .updateTable("control.members")
      .set({ role: "admin" })
      .where("user_id", "=", setup.member.id)
      .execute();
    expect((await server.ask("secretSet", settings)).status).toBe(200);
  });

  test("ends with the membership, and a new membership does not restore it", async () => {
    const setup = await openSetup(server);
    const { db } = server.deps;
    const member = { org_id: setup.org.id, user_id: setup.member.id, role: "member" } as const;
    await db.deleteFrom("control.members").where("user_id", "=", setup.member.id).execute();
    expect((await whoami(setup.own)).status).toBe(401);
    await db.insertInto("control.members").values(member).execute();
    expect((await whoami(setup.own)).status).toBe(401);
    expect((await whoami(setup.owners)).status).toBe(200);
  });

  test("with grants acts as itself: it stays when its creator leaves", async () => {
    const setup = await openSetup(server);
    await server.deps.db.deleteFrom("control.members").where("user_id", "=", setup.owner.id).execute();
    expect((await whoami(setup.granted)).json).toMatchObject({
      kind: "grant_key",
      email: null,
      user_id: null,
      key: { grants: [GRANT.replace("ORG", setup.org.name)] },
    });
  });

  test("that is wrong is refused, also next to a valid session", async () => {
    const setup = await openSetup(server);
    const flipped = setup.own.slice(0, -1) + (setup.own.endsWith("A") ? "B" : "A");
    const other = setup.own.replace(/^sk_[a-z0-9]+_/, `sk_${setup.owners.split("_")[1]}_`);
    for (const text of [
      flipped,
      other,
      "sk_",
      "x",
      `${setup.own},${setup.own}`,
      "'; drop table control.api_keys; --",
    ]) {
      const answer = await whoami(text, { authorization: `Bearer ${setup.owner.token}` });
      expect(answer.status).toBe(401);
      expect(answer.json.code).toBe("unauthorized");
      expect(answer.text).not.toContain(setup.org.name);
    }
    expect((await whoami(setup.own, { authorization: "Bearer nonsense-nonsense-nonsense" })).status).toBe(200);
  });

  test("that has expired is refused, by the database's clock", async () => {
    const setup = await openSetup(server);
    const text = await makeKey(server, setup.org, setup.member, { name: "short", expires_in_s: 60 });
    expect((await whoami(text)).json.expires_at).toMatch(/Z$/);
    await server.deps.db
      .updateTable("control.api_keys")
      .set({ expires_at: new Date(Date.now() - 1) })
      .where("name", "=", "short")
      .where("org_id", "=", setup.org.id)
      .execute();
    expect((await whoami(text)).status).toBe(401);
  });

  test("cannot create a key that outlives it", async () => {
    const setup = await openSetup(server);
    const text = await makeKey(server, setup.org, setup.member, { name: "short", expires_in_s: 3_600 });
    const create = (body: object) =>
      server.ask("keyCreate", { as: { api_key: text }, params: { org: setup.org.name }, body } as never);
    expect((await create({ name: "child" })).status).toBe(403);
    expect((await create({ name: "child", expires_in_s: 7_200 })).status).toBe(403);
    expect((await create({ name: "child", expires_in_s: 600 })).status).toBe(201);
  });

  test("that was rotated has a new secret; the previous one works during the overlap", async () => {
    const setup = await openSetup(server);
    const rotate = async (overlapS?: number) => {
      const body = overlapS === undefined ? {} : { overlap_s: overlapS };
      const answer = await server.ask("keyRotate", {
        as: setup.member,
        params: { org: setup.org.name, name: "own" },
        body,
      } as never);
      return answer.json;
    };
    const second = await rotate(3_600);
    expect(second.previous_until).toMatch(/Z$/);
    expect([(await whoami(setup.own)).status, (await whoami(second.api_key)).status]).toEqual([200, 200]);
    const third = await rotate(3_600);
    expect([(await whoami(setup.own)).status, (await whoami(second.api_key)).status]).toEqual([401, 200]);
    const fourth = await rotate();
    expect(fourth.previous_until).toBeNull();
    expect([(await whoami(third.api_key)).status, (await whoami(fourth.api_key)).status]).toEqual([401, 200]);
  });

  test("shows its last use once that is recorded", async () => {
    const setup = await openSetup(server);
    const last = async () => {
      const { json } = await server.ask("keyList", { as: setup.owner, params: { org: setup.org.name } });
      return json.items.find((item: { name: string }) => item.name === "own").last_used_at;
    };
    await whoami(setup.own);
    await whoami(setup.granted.replace(/.$/, "!"));
    expect(await last()).toBeNull();
    await server.deps.key_uses.flush();
    expect(await last()).toMatch(/Z$/);
  });

  test("appears only in the answer that created it", async () => {
    const setup = await openSetup(server);
    const { rows } = await server.deps.pool.query("select * from control.api_keys where org_id = $1", [setup.org.id]);
    const events = await server.ask("eventList", { as: setup.owner, params: { org: setup.org.name } });
    const everywhere = JSON.stringify([rows, server.log.lines]) + events.text;
    for (const text of [setup.own, setup.owners, setup.granted]) {
      expect(everywhere).not.toContain(text.slice(-43));
    }
    expect(events.text).toContain("key.create");
  });

  test("requested twice with one Idempotency-Key at two servers is created once", async () => {
    const setup = await openSetup(server);
    await using other = await openServer({ beside: server });
    const input = {
      as: setup.member,
      params: { org: setup.org.name },
      body: { name: "once" },
      headers: { "idempotency-key": "one" },
    } as never;
    const [one, two] = await Promise.all([server.ask("keyCreate", input), other.ask("keyCreate", input)]);
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(one.json.api_key).toBe(two.json.api_key);
    const without = { as: setup.member, params: { org: setup.org.name }, body: { name: "race" } } as never;
    const race = await Promise.all([server.ask("keyCreate", without), other.ask("keyCreate", without)]);
    expect(race.map(({ status }) => status).sort()).toEqual([201, 409]);
  });

  test("lists are paged, by name", async () => {
    const setup = await makePeople(server);
    for (const name of ["c", "a", "b"]) await makeKey(server, setup.org, setup.member, { name });
    const page = (query: Record<string, string>) =>
      server.ask("keyList", { as: setup.member, params: { org: setup.org.name }, query } as never);
    const first = await page({ limit: "2" });
    expect(first.json.items.map((item: { name: string }) => item.name)).toEqual(["a", "b"]);
    const second = await page({ limit: "2", cursor: first.json.next });
    expect(second.json).toMatchObject({ items: [{ name: "c" }], next: null });
    expect((await page({ cursor: "nonsense" })).json.code).toBe("invalid_cursor");
  });

  test("of a person who is removed from the server ends with the account", async () => {
    const setup = await openSetup(server);
    const person = await makePerson(server);
    await server.deps.db
      .insertInto("control.members")
      .values({ org_id: setup.org.id, user_id: person.id, role: "member" })
      .execute();
    const text = await makeKey(server, setup.org, person, { name: "theirs" });
    await server.deps.db.deleteFrom("identity.users").where("id", "=", person.id).execute();
    expect((await whoami(text)).status).toBe(401);
  });
});
