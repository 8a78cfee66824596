import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { join, makeOrg, makePeople, makePerson } from "../../testing/people.ts";
import { testScenarios } from "../../testing/scenarios.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer();
});

afterAll(() => server[Symbol.asyncDispose]());

const NOT_THERE = { org: "not-there" };

describe("who may see and change an organization", () => {
  testScenarios(() => server, makePeople, [
    { as: "guest", route: "orgList", status: 401, includes: ["unauthorized"] },
    {
      as: "member",
      route: "orgList",
      status: 200,
      includes: [({ org }) => org.name],
      excludes: [(s) => s.other_org.name],
    },
    {
      as: "outsider",
      route: "orgList",
      status: 200,
      includes: [(s) => s.other_org.name],
      excludes: [({ org }) => org.name],
    },
    { as: "guest", route: "orgShow", status: 401, excludes: [({ org }) => org.id] },
    { as: "member", route: "orgShow", status: 200, includes: ['"role":"member"', '"etag":"\\"1\\""', '"databases":0'] },
    { as: "admin", route: "orgShow", status: 200, includes: ['"role":"admin"'] },
    { as: "owner", route: "orgShow", status: 200, includes: ['"role":"owner"'] },
    {
      as: "outsider",
      route: "orgShow",
      status: 404,
      includes: ["organization_not_found"],
      excludes: [({ org }) => org.id],
    },
    { as: "outsider", named: "outsider of an unused name", route: "orgShow", params: NOT_THERE, status: 404 },
    { as: "guest", route: "orgUpdate", body: { display_name: "New" }, status: 401 },
    {
      as: "member",
      route: "orgUpdate",
      body: { display_name: "New" },
      status: 403,
      includes: ["forbidden", "org.update"],
    },
    {
      as: "admin",
      route: "orgUpdate",
      body: { display_name: "New" },
      status: 200,
      includes: ['"display_name":"New"', '\\"2\\"'],
    },
    { as: "owner", route: "orgUpdate", body: { display_name: "New" }, status: 200, includes: ['"display_name":"New"'] },
    {
      as: "outsider",
      route: "orgUpdate",
      body: { display_name: "New" },
      status: 404,
      includes: ["organization_not_found"],
    },
    {
      as: "owner",
      named: "owner with an outdated version",
      route: "orgUpdate",
      headers: { "if-match": '"7"' },
      body: { display_name: "New" },
      status: 412,
      includes: ["precondition_failed"],
    },
    {
      as: "owner",
      named: "owner with a name",
      route: "orgUpdate",
      body: { name: "new" },
      status: 422,
      includes: ["name"],
    },
    { as: "guest", route: "orgCreate", body: { name: "acme" }, status: 401 },
    {
      as: "member",
      named: "member with a wrong name",
      route: "orgCreate",
      body: { name: "Acme_" },
      status: 422,
      includes: ["invalid_name"],
    },
    {
      as: "member",
      named: "member with a look-alike",
      route: "orgCreate",
      body: { name: "аcme" },
      status: 422,
      includes: ["invalid_name"],
    },
    {
      as: "member",
      named: "member with the name of a device",
      route: "orgCreate",
      body: { name: "aux" },
      status: 422,
      includes: ["invalid_name"],
    },
  ]);

  test("names of other organizations and unused names get the same answer", async () => {
    const { org, outsider } = await makePeople(server);
    const [theirs, nobodys] = await Promise.all(
      [org.name, "org-000000000000"].map((name) => server.ask("orgShow", { params: { org: name }, as: outsider })),
    );
    const plain = (text: string | undefined, name: string) =>
      text?.replaceAll(name, "NAME").replace(/"instance":"[^"]*"/, "");
    expect(plain(theirs?.text, org.name)).toBe(plain(nobodys?.text, "org-000000000000"));
  });
});

describe("creating an organization", () => {
  test("makes its creator the owner and switches the session to it", async () => {
    const ann = await makePerson(server);
    const before = await server.ask("whoami", { as: ann });
    expect(before.json).toMatchObject({ organization: null, organizations: 0 });
    const made = await server.ask("orgCreate", { body: { name: "acme" }, as: ann });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ name: "acme", display_name: "acme", role: "owner", database_quota: 3 });
    const after = await server.ask("whoami", { as: ann });
    expect(after.json).toMatchObject({ organization: { name: "acme", role: "owner" }, organizations: 1 });
  });

  test("refuses a name that is taken anywhere on the server", async () => {
    const [ann, ben] = [await makePerson(server), await makePerson(server)];
    await makeOrg(server, ann, "taken");
    const refused = await server.ask("orgCreate", { body: { name: "taken" }, as: ben });
    expect(refused.status).toBe(409);
    expect(refused.json).toMatchObject({ code: "organization_taken" });
    expect((await server.ask("whoami", { as: ben })).json).toMatchObject({ organization: null });
  });

  test("accepts 29 characters and refuses 30", async () => {
    const ann = await makePerson(server);
    expect((await server.ask("orgCreate", { body: { name: "a".repeat(29) }, as: ann })).status).toBe(201);
    const refused = await server.ask("orgCreate", { body: { name: "a".repeat(30) }, as: ann });
    expect(refused.json).toMatchObject({ code: "invalid_name", status: 422 });
  });

  test("gives a name to one of two concurrent requests", async () => {
    const people = await Promise.all([1, 2, 3, 4].map(() => makePerson(server)));
    const answers = await Promise.all(
      people.map((person) => server.ask("orgCreate", { body: { name: "raced" }, as: person })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  });

  test("repeated with its Idempotency-Key returns the first answer and creates nothing", async () => {
    const ann = await makePerson(server);
    const input = { body: { name: "once" }, as: ann, headers: { "idempotency-key": "k1" } };
    const answers = await Promise.all([1, 2, 3].map(() => server.ask("orgCreate", input)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const other = await server.ask("orgCreate", { ...input, body: { name: "another" } });
    expect(other.json).toMatchObject({ code: "idempotency_mismatch", status: 422 });
    const foreign = await server.ask("orgCreate", { ...input, as: await makePerson(server) });
    expect(foreign.json).toMatchObject({ code: "organization_taken" });
    const wrong = await server.ask("orgCreate", { ...input, headers: { "idempotency-key": "a b" } });
    expect(wrong.json).toMatchObject({ code: "invalid_idempotency_key", status: 400 });
  });

  test("can be retried with the same key after a refusal", async () => {
    const [ann, ben] = [await makePerson(server), await makePerson(server)];
    const org = await makeOrg(server, ben, "later");
    const input = { body: { name: "later" }, as: ann, headers: { "idempotency-key": "k2" } };
    expect((await server.ask("orgCreate", input)).status).toBe(409);
    await server.deps.db.deleteFrom("control.organizations").where("id", "=", org.id).execute();
    expect((await server.ask("orgCreate", input)).status).toBe(201);
  });
});

describe("organizations of a person", () => {
  const create = (as: object, name: string) => small.ask("orgCreate", { as, body: { name } } as never);
  let small: TestServer;
  let first: object;
  beforeAll(async () => {
    small = await openServer({ env: { SERVICE_ORGS_PER_PERSON: "2" } });
    first = await makePerson(small, "first");
  });
  afterAll(() => small[Symbol.asyncDispose]());

  test("are limited by the server, also for concurrent requests", async () => {
    const ann = await makePerson(small);
    const answers = await Promise.all(["a", "b", "c", "d", "e"].map((name) => create(ann, `ann-${name}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409]);
    const refused = answers.find(({ status }) => status === 409);
    expect(refused?.json).toMatchObject({
      code: "organization_quota",
      meta: { made: 2, most: 2 },
      detail: expect.stringContaining("SERVICE_ORGS_PER_PERSON"),
    });
    expect((await create(await makePerson(small), "somebody-else")).status).toBe(201);
  });

  test("count after their creator left, and if an older version created them", async () => {
    const ann = await makePerson(small);
    await create(ann, "left");
    await small.deps.db.deleteFrom("control.members").where("user_id", "=", ann.id).execute();
    await makeOrg(small, ann, "older");
    expect((await create(ann, "third")).json.code).toBe("organization_quota");
    const ben = await makePerson(small);
    await join(small, await makeOrg(small, ann, "guested"), ben, "member");
    expect((await create(ben, "bens-own")).status).toBe(201);
  });

  test("of the first account are unlimited", async () => {
    for (const name of ["x", "y", "z"]) expect((await create(first, `first-${name}`)).status).toBe(201);
  });
});

test("a server without isolated pods creates one organization, also for concurrent requests", async () => {
  await using alone = await openServer({ env: { SERVICE_PODS: "process" } });
  const people = await Promise.all([1, 2, 3].map(() => makePerson(alone)));
  const create = (at: number) => alone.ask("orgCreate", { body: { name: `org-${at}` }, as: people[at] ?? {} });
  const answers = await Promise.all(people.map((_person, at) => create(at)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  const made = answers.findIndex(({ status }) => status === 201);
  const refused = await create((made + 1) % 3);
  expect(refused.json).toMatchObject({ code: "pods_one_organization", status: 409 });
  expect(refused.text).not.toContain(`org-${made}`);
  expect((await create(made)).json).toMatchObject({ code: "organization_taken" });
});

describe("lists", () => {
  test("are paged, with each item once", async () => {
    const ann = await makePerson(server);
    for (const letter of "abcde") await makeOrg(server, ann, `page-${letter}`);
    const names: string[] = [];
    for await (const org of server.client(ann).each("orgList", { query: { limit: 2 } })) names.push(org.name);
    expect(names).toEqual(["page-a", "page-b", "page-c", "page-d", "page-e"]);
  });

  test.each([
    ["limit=0", "invalid_request"],
    ["limit=201", "invalid_request"],
    ["limit=x", "invalid_request"],
    ["other=1", "invalid_request"],
    ["cursor=%27%20or%201=1", "invalid_cursor"],
    ["cursor=WzEsMl0", "invalid_cursor"],
  ])("refuse ?%s", async (query, code) => {
    const ann = await makePerson(server);
    const answer = await server.send("GET", `/v1/orgs?${query}`, { as: ann });
    expect(answer.json).toMatchObject({ code });
  });
});
