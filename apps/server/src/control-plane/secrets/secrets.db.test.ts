import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSecrets } from "../../secrets/secret-store.ts";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople, type TestPeople } from "../../testing/people.ts";
import { type Scenario, testScenarios } from "../../testing/scenarios.ts";

interface SecretSetup extends TestPeople {
  readonly database_id: string;
}

const VALUE = "sk-proj-very-secret-value";
const OTHER_VALUE = "another-secret-value";

let server: TestServer;
beforeAll(async () => {
  server = await openServer();
});
afterAll(() => server[Symbol.asyncDispose]());

async function openSetup(at: TestServer): Promise<SecretSetup> {
  const setup = await makePeople(at);
  const made = await at.deps.db
    .insertInto("control.databases")
    .values([
      { org_id: setup.org.id, name: "main" },
      { org_id: setup.other_org.id, name: "theirs" },
    ])
    .returning("id")
    .execute();
  await set(at, setup, "secretSet", "SHARED", OTHER_VALUE);
  await set(at, setup, "databaseSecretSet", "OPENAI_API_KEY", VALUE);
  return { ...setup, database_id: made[0]?.id ?? "" };
}

async function set(
  at: TestServer,
  setup: TestPeople,
  route: "secretSet" | "databaseSecretSet",
  name: string,
  value: string,
) {
  const params = { org: setup.org.name, db: "main", name };
  const answer = await at.ask(route, { as: setup.admin, params, body: { value } } as never);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json;
}

const excludes = [VALUE, OTHER_VALUE];
const of = (name: string, db = "main") => ({ db, name });
const body = { value: "new" };
const both = (row: Omit<Scenario<SecretSetup>, "route">, verb: "Set" | "Delete"): Scenario<SecretSetup>[] => [
  { ...row, route: `secret${verb}`, params: of("SHARED"), excludes },
  { ...row, route: `databaseSecret${verb}`, params: of("OPENAI_API_KEY"), excludes },
];
const ROWS: Scenario<SecretSetup>[] = [
  ...(["secretList", "databaseSecretList"] as const).flatMap((route): Scenario<SecretSetup>[] => [
    { as: "guest", route, params: of(""), status: 401, excludes: ["SHARED"] },
    { as: "outsider", route, params: of(""), status: 404, includes: ["organization_not_found"], excludes: ["SHARED"] },
    ...(["member", "admin", "owner"] as const).map(
      (as): Scenario<SecretSetup> => ({ as, route, params: of(""), status: 200, includes: ["SHARED"], excludes }),
    ),
  ]),
  ...(["Set", "Delete"] as const).flatMap((verb) => {
    const withBody = verb === "Set" ? { body } : {};
    const done = verb === "Set" ? 200 : 204;
    return [
      ...both({ as: "guest", status: 401, ...withBody }, verb),
      ...both({ as: "outsider", status: 404, ...withBody }, verb),
      ...both({ as: "member", status: 403, includes: ["secret.write"], ...withBody }, verb),
      ...both({ as: "admin", status: done, ...withBody }, verb),
      ...both({ as: "owner", status: done, ...withBody }, verb),
    ];
  }),
  {
    as: "owner",
    named: "owner, in a database of another organization",
    route: "databaseSecretSet",
    params: of("A", "theirs"),
    body,
    status: 404,
    includes: ["database_not_found"],
  },
  {
    as: "owner",
    named: "owner, none",
    route: "secretDelete",
    params: of("NONE"),
    status: 404,
    includes: ["secret_not_found"],
  },
  ...["SERVICE_X", "service_api_key"].map(
    (name): Scenario<SecretSetup> => ({
      as: "owner",
      named: `owner, ${name}`,
      route: "secretSet",
      params: of(name),
      body,
      status: 422,
      includes: ["secret_reserved"],
    }),
  ),
  ...["1A", "A-B", "A=B", "Ａ", "A%0AB"].map(
    (name): Scenario<SecretSetup> => ({
      as: "owner",
      named: `owner, ${name}`,
      route: "secretSet",
      params: of(name),
      body,
      status: 422,
      includes: ["invalid_name"],
    }),
  ),
  ...[
    { value: "" },
    { value: "x\u0000y" },
    { value: "\ud800y" },
    { value: "é".repeat(40_000) },
    {},
    { value: 1 },
    { value: "a", b: 1 },
  ].map(
    (wrong): Scenario<SecretSetup> => ({
      as: "owner",
      named: `owner, ${JSON.stringify(wrong).slice(0, 20)}`,
      route: "secretSet",
      params: of("A"),
      body: wrong,
      status: 422,
      includes: ["invalid_request"],
      excludes: ["éé"],
    }),
  ),
];

describe("who may do what with secrets", () => {
  testScenarios(() => server, openSetup, ROWS);
});

describe("a secret", () => {
  test("of the database overrides one of the organization; the services get both", async () => {
    const setup = await openSetup(server);
    expect(await set(server, setup, "databaseSecretSet", "SHARED", "own")).toMatchObject({
      scope: "database",
      overrides_organization: true,
      set_by: setup.admin.email,
    });
    const params = { org: setup.org.name, db: "main" };
    const { json } = await server.ask("databaseSecretList", { as: setup.member, params });
    expect(json.items.map((item: object) => ({ ...item, updated_at: "", set_by: "" }))).toEqual([
      { name: "OPENAI_API_KEY", scope: "database", overrides_organization: false, updated_at: "", set_by: "" },
      { name: "SHARED", scope: "database", overrides_organization: true, updated_at: "", set_by: "" },
    ]);
    const { db, envelope } = server.deps;
    const values = await openSecrets(db, envelope, { org_id: setup.org.id, database_id: setup.database_id });
    expect(Object.fromEntries([...values].map(([name, value]) => [name, value.reveal()]))).toEqual({
      OPENAI_API_KEY: VALUE,
      SHARED: "own",
    });
    await server.ask("databaseSecretDelete", { as: setup.admin, params: { ...params, name: "SHARED" } });
    const after = await openSecrets(db, envelope, { org_id: setup.org.id, database_id: setup.database_id });
    expect(after.get("SHARED")?.reveal()).toBe(OTHER_VALUE);
  });

  test("appears in no table, log, event or stored answer", async () => {
    const setup = await openSetup(server);
    const params = { org: setup.org.name, db: "main", name: "KEPT" };
    const headers = { "idempotency-key": "kept" };
    await server.ask("databaseSecretSet", { as: setup.admin, params, body: { value: VALUE }, headers } as never);
    const { rows } = await server.deps.pool.query(
      `select (select json_agg(s) from control.secrets s)::text || (select json_agg(e) from control.events e)::text
        || (select json_agg(d) from control.data_keys d)::text as all, (select json_agg(encode(answer, 'escape')) from control.idempotency)::text as kept`,
    );
    const everything = JSON.stringify([rows, server.log.lines]);
    for (const form of [VALUE, Buffer.from(VALUE).toString("hex"), Buffer.from(VALUE).toString("base64")]) {
      expect(everything).not.toContain(form);
    }
    expect(everything).toContain("secret.set");
  });

  test("cannot be decrypted under another name or for another owner", async () => {
    const setup = await openSetup(server);
    const { db, envelope, pool } = server.deps;
    const owner = { org_id: setup.org.id, database_id: setup.database_id };
    await pool.query("update control.secrets set name = 'MOVED' where org_id = $1 and database_id is not null", [
      setup.org.id,
    ]);
    await expect(openSecrets(db, envelope, owner)).rejects.toThrow();
  });

  test("set first at two servers at once shares one data key", async () => {
    const setup = await makePeople(server);
    await using other = await openServer({ beside: server });
    const names = ["A", "B", "C", "D"];
    await Promise.all(names.map((name, at) => set(at % 2 === 0 ? server : other, setup, "secretSet", name, name)));
    const values = await openSecrets(other.deps.db, other.deps.envelope, { org_id: setup.org.id, database_id: null });
    expect([...values.values()].map((value) => value.reveal()).sort()).toEqual(names);
  });

  test("lists are paged, and a scope holds at most 200", async () => {
    const setup = await makePeople(server);
    await set(server, setup, "secretSet", "A0", "x");
    await server.deps.pool.query(
      `insert into control.secrets select org_id, null, 'B' || n, data_key_id, sealed, null, now()
         from control.secrets, generate_series(1, 199) n where org_id = $1`,
      [setup.org.id],
    );
    const params = { org: setup.org.name };
    const page = (query: Record<string, string>) =>
      server.ask("secretList", { as: setup.member, params, query } as never);
    const first = await page({ limit: "150" });
    const second = await page({ limit: "150", cursor: first.json.next });
    expect([first.json.items.length, second.json.items.length, second.json.next]).toEqual([150, 50, null]);
    const more = await server.ask("secretSet", {
      as: setup.admin,
      params: { ...params, name: "C" },
      body: { value: "x" },
    });
    expect([more.status, more.json.detail]).toEqual([422, `cloud://${setup.org.name} has 200 secrets, the maximum.`]);
    await set(server, setup, "secretSet", "A0", "y");
  });
});
