import type { Role } from "@appdb/contract/permissions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { join, makeOrg, makePeople, makePerson, type TestPeople, type TestPerson } from "../../testing/people.ts";
import { testScenarios } from "../../testing/scenarios.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer();
});

afterAll(() => server[Symbol.asyncDispose]());

/** The setup with the ids of its memberships. */
interface MembersSetup extends TestPeople {
  readonly ids: Readonly<Record<"owner" | "admin" | "member" | "outsider", string>>;
}

async function openMembersSetup(): Promise<MembersSetup> {
  const setup = await makePeople(server);
  const idOf = async (person: TestPerson) => {
    const found = await server.deps.db
      .selectFrom("control.members")
      .select("id")
      .where("user_id", "=", person.id)
      .executeTakeFirstOrThrow();
    return found.id;
  };
  const [owner, admin, member, outsider] = await Promise.all(
    [setup.owner, setup.admin, setup.member, setup.outsider].map(idOf),
  );
  if (!owner || !admin || !member || !outsider) throw new Error("There are four.");
  return { ...setup, ids: { owner, admin, member, outsider } };
}

const of = (who: keyof MembersSetup["ids"]) => (setup: MembersSetup) => ({ org: setup.org.name, id: setup.ids[who] });
const NONE = "00000000-0000-0000-0000-000000000000";

describe("who may see, change and remove members", () => {
  testScenarios(() => server, openMembersSetup, [
    { as: "guest", route: "memberList", status: 401, excludes: ["@example.com"] },
    {
      as: "member",
      route: "memberList",
      status: 200,
      includes: [(s) => s.owner.email, (s) => s.admin.email],
      excludes: [(s) => s.outsider.email],
    },
    { as: "outsider", route: "memberList", status: 404, includes: ["organization_not_found"], excludes: ["owner."] },

    { as: "guest", route: "memberUpdate", params: of("member"), body: { role: "admin" }, status: 401 },
    {
      as: "outsider",
      route: "memberUpdate",
      params: of("member"),
      body: { role: "admin" },
      status: 404,
      includes: ["organization_not_found"],
    },
    {
      as: "member",
      named: "member of themselves",
      route: "memberUpdate",
      params: of("member"),
      body: { role: "admin" },
      status: 403,
    },
    {
      as: "admin",
      named: "admin of a member",
      route: "memberUpdate",
      params: of("member"),
      body: { role: "admin" },
      status: 200,
      includes: ['"role":"admin"'],
    },
    {
      as: "admin",
      named: "admin making an owner",
      route: "memberUpdate",
      params: of("member"),
      body: { role: "owner" },
      status: 403,
    },
    {
      as: "admin",
      named: "admin of themselves to owner",
      route: "memberUpdate",
      params: of("admin"),
      body: { role: "owner" },
      status: 403,
    },
    {
      as: "admin",
      named: "admin of an owner",
      route: "memberUpdate",
      params: of("owner"),
      body: { role: "member" },
      status: 403,
    },
    {
      as: "owner",
      named: "owner making an owner",
      route: "memberUpdate",
      params: of("member"),
      body: { role: "owner" },
      status: 200,
      includes: ['"role":"owner"'],
    },
    {
      as: "owner",
      named: "the only owner of themselves",
      route: "memberUpdate",
      params: of("owner"),
      body: { role: "admin" },
      status: 409,
      includes: ["last_owner"],
    },
    {
      as: "owner",
      named: "owner with an unknown role",
      route: "memberUpdate",
      params: of("member"),
      body: { role: "god" },
      status: 422,
    },
    {
      as: "owner",
      named: "owner of a member of another",
      route: "memberUpdate",
      params: of("outsider"),
      body: { role: "member" },
      status: 404,
      includes: ["member_not_found"],
    },
    {
      as: "owner",
      named: "owner of a missing member",
      route: "memberUpdate",
      params: { id: NONE },
      body: { role: "member" },
      status: 404,
    },
    {
      as: "owner",
      named: "owner of a malformed id",
      route: "memberUpdate",
      params: { id: "' or 1=1 --" },
      body: { role: "member" },
      status: 404,
      includes: ["member_not_found"],
    },

    { as: "guest", route: "memberRemove", params: of("member"), status: 401 },
    { as: "outsider", route: "memberRemove", params: of("member"), status: 404, includes: ["organization_not_found"] },
    {
      as: "member",
      named: "member of an admin",
      route: "memberRemove",
      params: of("admin"),
      status: 403,
      includes: ["member.change"],
    },
    { as: "admin", named: "admin of a member", route: "memberRemove", params: of("member"), status: 204 },
    { as: "admin", named: "admin of an owner", route: "memberRemove", params: of("owner"), status: 403 },
    { as: "owner", named: "owner of an admin", route: "memberRemove", params: of("admin"), status: 204 },
    {
      as: "owner",
      named: "the only owner, leaving",
      route: "memberRemove",
      params: of("owner"),
      status: 409,
      includes: ["last_owner"],
    },
    {
      as: "owner",
      named: "owner of a member of another",
      route: "memberRemove",
      params: of("outsider"),
      status: 404,
      includes: ["member_not_found"],
    },
    {
      as: "member",
      named: "member, leaving",
      route: "memberRemove",
      params: of("member"),
      status: 204,
      after: async (_server, { org, member }) => {
        const answer = await server.ask("orgShow", { params: { org: org.name }, as: member });
        expect(answer.json).toMatchObject({ code: "organization_not_found" });
        expect((await server.ask("whoami", { as: member })).json).toMatchObject({ organization: null });
      },
    },
  ]);

  test("of two owners that leave at once, one stays", async () => {
    const [ann, ben] = [await makePerson(server), await makePerson(server)];
    const org = await makeOrg(server, ann);
    await join(server, org, ben, "owner");
    const { items } = await server.client(ann).call("memberList", { params: { org: org.name } });
    const idOf = (person: TestPerson) => items.find(({ user_id: userId }) => userId === person.id)?.id ?? "";
    const answers = await Promise.all(
      [ann, ben].map((person) =>
        server.ask("memberRemove", { params: { org: org.name, id: idOf(person) }, as: person }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
  });
});

describe("invitations of a person", () => {
  const invite = (setup: MembersSetup, email: string, role: Role) =>
    server.ask("invitationCreate", {
      as: { token: setup.admin.token },
      params: { org: setup.org.name },
      body: { email, role },
    });
  const open = async (setup: MembersSetup) =>
    (
      await server.deps.db.selectFrom("control.invitations").select("role").where("org_id", "=", setup.org.id).execute()
    ).map(({ role }) => role);
  const change = (setup: MembersSetup, role: Role) =>
    server.ask("memberUpdate", {
      as: { token: setup.owner.token },
      params: { org: setup.org.name, id: setup.ids.admin },
      body: { role },
    });

  test("who is removed are withdrawn", async () => {
    const setup = await openMembersSetup();
    const made = await invite(setup, "second.self@example.com", "admin");
    const token = String(made.json.url).split("invitation=")[1] ?? "";
    const params = { org: setup.org.name, id: setup.ids.admin };
    expect((await server.ask("memberRemove", { as: { token: setup.owner.token }, params })).status).toBe(204);
    expect((await server.ask("invitationShow", { params: { token } })).status).toBe(404);
    expect(await open(setup)).toEqual([]);
  });

  test("who lost the permission are withdrawn; a previous owner's invitations of owners too", async () => {
    const setup = await openMembersSetup();
    await change(setup, "owner");
    await invite(setup, "one@example.com", "owner");
    await invite(setup, "two@example.com", "member");
    await change(setup, "admin");
    expect(await open(setup)).toEqual(["member"]);
    await change(setup, "member");
    expect(await open(setup)).toEqual([]);
  });
});
