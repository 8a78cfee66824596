import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServer, type TestServer } from "../../testing/open-server.ts";
import { makePeople, makePerson, type TestPeople } from "../../testing/people.ts";
import { testScenarios } from "../../testing/scenarios.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer({ mail: true });
});

afterAll(() => server[Symbol.asyncDispose]());

interface InvitedSetup extends TestPeople {
  readonly invitation: { readonly id: string; readonly email: string };
  readonly token: string;
}

async function openInvitedSetup(): Promise<InvitedSetup> {
  const setup = await makePeople(server);
  const email = `guest.${setup.member.id}@example.com`;
  const made = await server.ask("invitationCreate", {
    params: { org: setup.org.name },
    body: { email },
    as: setup.owner,
  });
  return { ...setup, invitation: made.json, token: tokenOf(made.json.url) };
}

const tokenOf = (url: string) => new URL(url).searchParams.get("invitation") ?? "";
const body = { email: "New@example.com" };
const revoked = (setup: InvitedSetup) => ({ org: setup.org.name, id: setup.invitation.id });
const shown = ({ token }: InvitedSetup) => ({ token });

describe("who may invite", () => {
  testScenarios(() => server, openInvitedSetup, [
    { as: "guest", route: "invitationList", status: 401 },
    { as: "member", route: "invitationList", status: 403, excludes: ["guest."] },
    {
      as: "admin",
      route: "invitationList",
      status: 200,
      includes: [(s) => s.invitation.email, (s) => s.owner.email],
      excludes: [(s) => s.token],
    },
    { as: "outsider", route: "invitationList", status: 404, includes: ["organization_not_found"] },
    { as: "guest", route: "invitationCreate", body, status: 401 },
    { as: "member", route: "invitationCreate", body, status: 403 },
    { as: "outsider", route: "invitationCreate", body, status: 404 },
    {
      as: "admin",
      route: "invitationCreate",
      body,
      status: 201,
      includes: ['"email":"new@example.com"', '"role":"member"', "/sign-up?invitation=", '"mailed":true'],
    },
    { as: "admin", named: "admin, an owner", route: "invitationCreate", body: { ...body, role: "owner" }, status: 403 },
    { as: "owner", named: "owner, an owner", route: "invitationCreate", body: { ...body, role: "owner" }, status: 201 },
    {
      as: "owner",
      named: "owner, no address",
      route: "invitationCreate",
      body: { email: "new" },
      status: 422,
      includes: ["/email"],
    },
    {
      as: "owner",
      named: "owner, two addresses",
      route: "invitationCreate",
      body: { email: "a@b.co,c@d.co" },
      status: 422,
    },
    {
      as: "owner",
      named: "owner, a line break",
      route: "invitationCreate",
      body: { email: "a@b.co\nBcc: c@d.co" },
      status: 422,
    },
    {
      as: "owner",
      named: "owner, a member",
      route: "invitationCreate",
      body: (s: InvitedSetup) => ({ email: s.member.email }),
      status: 409,
      includes: ["member_exists"],
    },
    { as: "guest", route: "invitationRevoke", params: revoked, status: 401 },
    { as: "member", route: "invitationRevoke", params: revoked, status: 403 },
    { as: "outsider", route: "invitationRevoke", params: revoked, status: 404, includes: ["organization_not_found"] },
    {
      as: "outsider",
      named: "outsider in their own",
      route: "invitationRevoke",
      params: (s) => ({ org: s.other_org.name, id: s.invitation.id }),
      status: 404,
      includes: ["invitation_not_found"],
    },
    {
      as: "admin",
      route: "invitationRevoke",
      params: revoked,
      status: 204,
      after: async (_server, s) =>
        expect((await server.ask("invitationShow", { params: shown(s) })).json.code).toBe("invitation_not_found"),
    },
    {
      as: "guest",
      route: "invitationShow",
      params: shown,
      status: 200,
      includes: [({ org }) => org.name, (s) => s.invitation.email],
      excludes: [({ org }) => org.id, (s) => s.owner.email],
    },
    {
      as: "guest",
      named: "guest with a wrong link",
      route: "invitationShow",
      params: { token: "x".repeat(43) },
      status: 404,
      includes: ["invitation_not_found"],
    },
    { as: "guest", route: "invitationAccept", params: shown, status: 401 },
    {
      as: "outsider",
      route: "invitationAccept",
      params: shown,
      status: 403,
      includes: ["another address"],
      excludes: [(s) => s.invitation.email, ({ org }) => org.name],
    },
  ]);
});

describe("joining", () => {
  test("adds the invited person once and switches the session", async () => {
    const { org, owner } = await makePeople(server);
    const guest = await makePerson(server, "joiner");
    const made = await server.ask("invitationCreate", {
      params: { org: org.name },
      body: { email: guest.email.toUpperCase(), role: "admin" },
      as: owner,
    });
    const params = { token: tokenOf(made.json.url) };
    const answers = await Promise.all([1, 2].map(() => server.ask("invitationAccept", { params, as: guest })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    const whoami = await server.ask("whoami", { as: guest });
    expect(whoami.json).toMatchObject({ organization: { name: org.name, role: "admin" }, organizations: 1 });
  });

  test("another invitation for the address invalidates the previous link", async () => {
    const { org, owner, token, invitation } = await openInvitedSetup();
    const { email } = invitation;
    const again = await server.ask("invitationCreate", { params: { org: org.name }, body: { email }, as: owner });
    expect((await server.ask("invitationShow", { params: { token } })).status).toBe(404);
    expect((await server.ask("invitationShow", { params: { token: tokenOf(again.json.url) } })).status).toBe(200);
  });

  test("an invitation expires after a week", async () => {
    const { token, invitation } = await openInvitedSetup();
    const { db } = server.deps;
    await db
      .updateTable("control.invitations")
      .set({ expires_at: new Date(0) })
      .where("id", "=", invitation.id)
      .execute();
    expect((await server.ask("invitationShow", { params: { token } })).json).toMatchObject({
      code: "invitation_not_found",
    });
  });
});

test("the link is mailed, and its token appears in no log and no table", async () => {
  const { invitation, token } = await openInvitedSetup();
  const mail = server.mails.find(({ to }) => to === invitation.email);
  expect(mail?.text).toContain(`/sign-up?invitation=${token}`);
  expect(JSON.stringify(server.log.lines)).not.toContain(token);
  const kept = await server.deps.db.selectFrom("control.invitations").selectAll().execute();
  expect(JSON.stringify(kept)).not.toContain(token);
});

test("a repeated request returns the same link without another mail", async () => {
  const { org, owner } = await makePeople(server);
  const email = `again.${org.name}@example.com`;
  const input = { params: { org: org.name }, body: { email }, as: owner, headers: { "idempotency-key": "again" } };
  const [first, second] = [await server.ask("invitationCreate", input), await server.ask("invitationCreate", input)];
  expect(second?.text).toBe(first?.text);
  expect(server.mails.filter(({ to }) => to === email)).toHaveLength(1);
  const kept = await server.deps.db.selectFrom("control.idempotency").select("answer").execute();
  expect(kept.map(({ answer }) => answer.toString("latin1")).join()).not.toContain("sign-up");
});
