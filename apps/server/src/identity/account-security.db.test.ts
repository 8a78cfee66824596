import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Credential, openServer, type TestServer } from "../testing/open-server.ts";
import { makeOrg, makePeople, makePerson, makeSession, type TestPerson } from "../testing/people.ts";
import { totpCode } from "./second-factor/totp.ts";

let server: TestServer;

beforeAll(async () => {
  server = await openServer({ mail: true });
});

afterAll(() => server[Symbol.asyncDispose]());

afterEach(async () => {
  await server.deps.db.deleteFrom("identity.attempts").execute();
});

const PASSWORD = "correct horse battery";
const OTHER = "another good password";

/** Creates a person with a password. */
async function makeAccount(): Promise<TestPerson> {
  const ann = await makePerson(server);
  const hash = await server.deps.identity.hashPassword(PASSWORD);
  await sql`insert into identity.accounts (id, user_id, provider_id, account_id, password)
    values (${`account of ${ann.id}`}, ${ann.id}, 'credential', ${ann.id}, ${hash})`.execute(server.deps.db);
  return ann;
}

const signIn = (email: string, password = PASSWORD, code?: string) =>
  server.send("POST", "/v1/auth/sign-in/email", { body: { email, password, ...(code === undefined ? {} : { code }) } });
const bytesOf = (secret: string) => {
  const bits = [...secret].map((one) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(one).toString(2).padStart(5, "0"));
  return Buffer.from((bits.join("").match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
};
/** A code of the authenticator app, `ahead` steps from now, because each code works once. */
const codeOf = (secret: string, ahead = 0) => totpCode(bytesOf(secret), Math.floor(Date.now() / 30_000) + ahead);

/** Sets up a second factor. Returns its secret and the recovery codes. */
async function setUpFactor(as: Credential): Promise<{ secret: string; recovery_codes: string[] }> {
  const { secret } = (await server.ask("factorBegin", { body: { password: PASSWORD }, as })).json;
  const enabled = await server.ask("factorEnable", { body: { code: codeOf(secret, -1) }, as });
  return { secret, recovery_codes: enabled.json.recovery_codes };
}

const sessionsOf = (who: TestPerson) =>
  server.deps.db.selectFrom("identity.sessions").select("id").where("user_id", "=", who.id).execute();

/** Expires the person's last proof of identity. */
const forgetProof = (who: TestPerson) =>
  sql`update identity.sessions set authenticated_at = now() - interval '31 minutes' where user_id = ${who.id}`.execute(
    server.deps.db,
  );

describe("changing the password", () => {
  test("requires the current one, mails a notice and keeps other sessions", async () => {
    const ann = await makeAccount();
    const body = { password: PASSWORD, new_password: OTHER };
    const changed = await server.ask("passwordChange", { body, as: ann.browser });
    expect(changed.status).toBe(204);
    expect((await signIn(ann.email)).json).toMatchObject({ code: "sign_in_failed" });
    expect((await signIn(ann.email, OTHER)).status).toBe(200);
    expect((await server.ask("whoami", { as: ann })).status).toBe(200);
    await expect.poll(() => server.mails.find(({ to }) => to === ann.email)?.subject).toContain("password");
  });

  test("ends other sessions on request", async () => {
    const ann = await makeAccount();
    const body = { password: PASSWORD, new_password: OTHER, end_other_sessions: true };
    await server.ask("passwordChange", { body, as: ann.browser });
    expect(await sessionsOf(ann)).toEqual([{ id: ann.browser_session_id }]);
  });

  test("refuses a wrong current password, and limits guesses", async () => {
    const ann = await makeAccount();
    const body = { password: "wrong wrong wrong", new_password: OTHER };
    const answers = await Promise.all(
      Array.from({ length: 11 }, () => server.ask("passwordChange", { body, as: ann })),
    );
    const codes = answers.map(({ json }) => json.code);
    expect(codes.filter((code) => code === "sign_in_failed")).toHaveLength(10);
    expect(codes.filter((code) => code === "too_many_attempts")).toHaveLength(1);
    expect((await signIn(ann.email)).status).toBe(200);
  });

  test("refuses a weak password", async () => {
    const ann = await makeAccount();
    const body = { password: PASSWORD, new_password: "qwertyuiop" };
    expect((await server.ask("passwordChange", { body, as: ann })).json).toMatchObject({ code: "weak_password" });
  });

  test("is refused for guests and keys", async () => {
    const { org, owner } = await makePeople(server);
    const body = { password: PASSWORD, new_password: OTHER };
    expect((await server.ask("passwordChange", { body })).status).toBe(401);
    const key = await server.ask("keyCreate", { params: { org: org.name }, body: { name: "ci" }, as: owner });
    const as = { api_key: key.json.api_key };
    expect((await server.ask("passwordChange", { body, as })).json).toMatchObject({ code: "forbidden" });
  });
});

describe("a second factor", () => {
  test("is required after the password, and without it there is no session", async () => {
    const ann = await makeAccount();
    const { secret } = await setUpFactor(ann.browser);
    const before = await sessionsOf(ann);
    const none = await signIn(ann.email);
    expect(none.json).toMatchObject({ code: "second_factor_required", status: 401 });
    expect(none.headers.getSetCookie()).toEqual([]);
    const wrong = await signIn(ann.email, PASSWORD, codeOf(secret, 9));
    expect(wrong.json).toMatchObject({ code: "second_factor_wrong" });
    expect(wrong.headers.getSetCookie()).toEqual([]);
    expect(await sessionsOf(ann)).toEqual(before);
    const right = await signIn(ann.email, PASSWORD, codeOf(secret));
    expect(right.status).toBe(200);
    const cookie = right.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    expect((await server.ask("whoami", { as: { cookie } })).json).toMatchObject({ email: ann.email });
  });

  test("is not revealed to a wrong password", async () => {
    const ann = await makeAccount();
    await setUpFactor(ann);
    expect((await signIn(ann.email, "wrong wrong wrong")).json).toMatchObject({ code: "sign_in_failed" });
  });

  test("accepts each code once", async () => {
    const ann = await makeAccount();
    const { secret } = await setUpFactor(ann);
    const code = codeOf(secret);
    const answers = await Promise.all([1, 2, 3].map(() => signIn(ann.email, PASSWORD, code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
  });

  test("accepts each recovery code once, in people's spelling", async () => {
    const ann = await makeAccount();
    const { recovery_codes: recoveryCodes } = await setUpFactor(ann);
    expect(recoveryCodes).toHaveLength(10);
    // 5 random bits each
    expect(recoveryCodes.every((code) => /^([A-Z2-7]{4}-){5}[A-Z2-7]{4}$/.test(code))).toBe(true);
    const typed = recoveryCodes[0]?.toLowerCase().replaceAll("-", "") ?? "";
    expect((await signIn(ann.email, PASSWORD, typed)).status).toBe(200);
    expect((await signIn(ann.email, PASSWORD, typed)).json).toMatchObject({ code: "second_factor_wrong" });
    expect((await server.ask("accountShow", { as: ann })).json).toMatchObject({ recovery_codes: 9 });
  });

  test("stores its secret and recovery codes only encrypted or hashed", async () => {
    const ann = await makeAccount();
    const { secret, recovery_codes: recoveryCodes } = await setUpFactor(ann);
    const { rows } = await sql<{ row: string }>`
      select f::text as row from identity.second_factors f where user_id = ${ann.id}
      union all select r::text from identity.recovery_codes r where user_id = ${ann.id}`.execute(server.deps.db);
    expect(rows).toHaveLength(11);
    const stored = rows.map(({ row }) => row).join("\n");
    for (const text of [secret, bytesOf(secret).toString("hex"), ...recoveryCodes]) expect(stored).not.toContain(text);
  });

  test("limits guesses of codes", async () => {
    const ann = await makeAccount();
    const { secret } = await setUpFactor(ann);
    for (let index = 0; index < 5; index++) await signIn(ann.email, PASSWORD, codeOf(secret, 9));
    const late = await signIn(ann.email, PASSWORD, codeOf(secret));
    expect(late.json).toMatchObject({ code: "too_many_attempts" });
  });

  test("is required only after its first code was confirmed", async () => {
    const ann = await makeAccount();
    await server.ask("factorBegin", { body: { password: PASSWORD }, as: ann });
    const wrong = await server.ask("factorEnable", { body: { code: "000000" }, as: ann });
    expect(wrong.json).toMatchObject({ code: "second_factor_wrong" });
    expect((await signIn(ann.email)).status).toBe(200);
    const shown = await server.ask("accountShow", { as: ann });
    expect(shown.json).toMatchObject({ has_password: true, second_factor_since: null, recovery_codes: 0 });
  });

  test("limits guesses of the first code", async () => {
    const ann = await makeAccount();
    const { secret } = (await server.ask("factorBegin", { body: { password: PASSWORD }, as: ann })).json;
    const enable = (code: string) => server.ask("factorEnable", { body: { code }, as: ann });
    for (let index = 0; index < 5; index++) {
      expect((await enable(codeOf(secret, 9))).json).toMatchObject({ code: "second_factor_wrong" });
    }
    expect((await enable(codeOf(secret))).json).toMatchObject({ code: "too_many_attempts" });
  });

  test("can be set up by more people at once than there are connections", async () => {
    const people = await Promise.all(Array.from({ length: 30 }, makeAccount));
    const secrets = await Promise.all(
      people.map(async (as) => (await server.ask("factorBegin", { body: { password: PASSWORD }, as })).json.secret),
    );
    const answers = await Promise.all(
      people.map((as, index) => server.ask("factorEnable", { body: { code: codeOf(secrets[index]) }, as })),
    );
    expect(answers.map(({ status }) => status)).toEqual(people.map(() => 200));
  });

  test("is set up with the password, once", async () => {
    const ann = await makeAccount();
    const wrong = await server.ask("factorBegin", { body: { password: "wrong wrong wrong" }, as: ann });
    expect(wrong.json).toMatchObject({ code: "sign_in_failed" });
    await setUpFactor(ann);
    const again = await server.ask("factorBegin", { body: { password: PASSWORD }, as: ann });
    expect(again.json).toMatchObject({ code: "second_factor_conflict", status: 409 });
  });

  test("is removed with the password and a code", async () => {
    const ann = await makeAccount();
    const { secret } = await setUpFactor(ann);
    const remove = (password: string, code: string) =>
      server.ask("factorDisable", { body: { password, code }, as: ann });
    expect((await remove("wrong wrong wrong", codeOf(secret))).json).toMatchObject({ code: "sign_in_failed" });
    expect((await remove(PASSWORD, codeOf(secret, 9))).json).toMatchObject({ code: "second_factor_wrong" });
    expect((await signIn(ann.email)).json).toMatchObject({ code: "second_factor_required" });
    expect((await remove(PASSWORD, codeOf(secret))).status).toBe(204);
    expect((await signIn(ann.email)).status).toBe(200);
  });

  test("shows owners which members have one", async () => {
    const ann = await makeAccount();
    const org = await makeOrg(server, ann);
    await setUpFactor(ann);
    const list = (as: Credential, name: string) => server.ask("memberList", { params: { org: name }, as });
    expect((await list(ann, org.name)).json.items).toMatchObject([{ second_factor: true }]);
    const setup = await makePeople(server);
    const shown = (await list(setup.member, setup.org.name)).json.items as { second_factor: unknown }[];
    expect(shown.map(({ second_factor: secondFactor }) => secondFactor)).toEqual([null, null, null]);
  });
});

describe("dangerous actions in a session with an old proof of identity", () => {
  const refused = { code: "reauthentication_required", status: 403 };
  const createKey = (org: string, as: Credential, grants: string[] = []) =>
    server.ask("keyCreate", {
      params: { org },
      body: { name: `key-${Math.random().toString(36).slice(2)}`, grants },
      as,
    });

  test("cannot create keys without grants or with manage grants", async () => {
    const { org, owner } = await makePeople(server);
    expect((await createKey(org.name, owner)).status).toBe(201);
    await forgetProof(owner);
    expect((await createKey(org.name, owner)).json).toMatchObject(refused);
    expect((await createKey(org.name, owner, [`manage:cloud://${org.name}:main/services`])).json).toMatchObject(
      refused,
    );
    expect((await createKey(org.name, owner, [`access:cloud://${org.name}:main`])).status).toBe(201);
  });

  test("cannot rotate keys", async () => {
    const { org, owner } = await makePeople(server);
    const { name } = (await createKey(org.name, owner)).json;
    await forgetProof(owner);
    const rotated = await server.ask("keyRotate", { params: { org: org.name, name }, body: {}, as: owner });
    expect(rotated.json).toMatchObject(refused);
  });

  test("cannot change roles of members", async () => {
    const { org, owner, member } = await makePeople(server);
    const members = (await server.ask("memberList", { params: { org: org.name }, as: owner })).json.items;
    const { id } = members.find((one: { user_id: string }) => one.user_id === member.id);
    await forgetProof(owner);
    const change = () =>
      server.ask("memberUpdate", { params: { org: org.name, id }, body: { role: "admin" }, as: owner });
    expect((await change()).json).toMatchObject(refused);
  });

  test("cannot invite or remove members", async () => {
    const { org, owner, member } = await makePeople(server);
    const members = (await server.ask("memberList", { params: { org: org.name }, as: owner })).json.items;
    const { id } = members.find((one: { user_id: string }) => one.user_id === member.id);
    const params = { org: org.name };
    await forgetProof(owner);
    const body = { email: "thief@example.com", role: "owner" } as const;
    expect((await server.ask("invitationCreate", { params, body, as: owner })).json).toMatchObject(refused);
    expect((await server.ask("invitationList", { params, as: owner })).json.items).toEqual([]);
    const removed = await server.ask("memberRemove", { params: { ...params, id }, as: owner });
    expect(removed.json).toMatchObject(refused);
  });

  test("cannot delete databases", async () => {
    const { org, owner } = await makePeople(server);
    await forgetProof(owner);
    const deleted = await server.ask("databaseDelete", { params: { org: org.name, db: "main" }, as: owner });
    expect(deleted.json).toMatchObject(refused);
  });

  test("cannot sign in a terminal", async () => {
    const ann = await makePerson(server);
    const begun = await server.send("POST", "/v1/auth/device/code", { body: { client_id: "cli" } });
    const { user_code: userCode } = begun.json;
    await server.ask("deviceShow", { params: { code: userCode }, as: ann.browser });
    await forgetProof(ann);
    const answer = await server.send("POST", "/v1/auth/device/approve", {
      body: { userCode: userCode },
      as: ann.browser,
    });
    expect(answer.json).toMatchObject(refused);
  });

  test("do not affect keys", async () => {
    const { org, owner } = await makePeople(server);
    const key = (await createKey(org.name, owner)).json;
    await forgetProof(owner);
    expect((await createKey(org.name, { api_key: key.api_key })).status).toBe(201);
  });

  test("work after a confirmation, in that session only", async () => {
    const ann = await makeAccount();
    const org = await makeOrg(server, ann);
    const other = await makeSession(server, ann.id);
    await forgetProof(ann);
    const confirm = (body: object) => server.ask("sessionConfirm", { body, as: ann } as never);
    expect((await confirm({ password: "wrong wrong wrong" })).json).toMatchObject({ code: "sign_in_failed" });
    expect((await createKey(org.name, ann)).json).toMatchObject(refused);
    const confirmed = await confirm({ password: PASSWORD });
    expect(Date.parse(confirmed.json.confirmed_until)).toBeGreaterThan(Date.now());
    expect((await createKey(org.name, ann)).status).toBe(201);
    expect((await createKey(org.name, other)).json).toMatchObject(refused);
  });

  test("need the second factor for a confirmation, if there is one", async () => {
    const ann = await makeAccount();
    const { secret } = await setUpFactor(ann);
    const confirm = (code?: string) =>
      server.ask("sessionConfirm", { body: { password: PASSWORD, ...(code && { code }) }, as: ann });
    expect((await confirm()).json).toMatchObject({ code: "second_factor_required" });
    expect((await confirm(codeOf(secret))).status).toBe(200);
  });

  test("are not confirmed by a password change if there is a second factor", async () => {
    const ann = await makeAccount();
    const org = await makeOrg(server, ann);
    await setUpFactor(ann);
    await forgetProof(ann);
    const body = { password: PASSWORD, new_password: OTHER };
    expect((await server.ask("passwordChange", { body, as: ann })).status).toBe(204);
    expect((await createKey(org.name, ann)).json).toMatchObject(refused);
  });
});
