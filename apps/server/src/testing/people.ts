import { randomBytes } from "node:crypto";
import type { Role } from "@appdb/contract/permissions";
import { hashCredential } from "../identity/tokens/hashed-tokens.ts";
import type { Credential, TestServer } from "./open-server.ts";

/** A signed-in person: `token` is a terminal's session, `cookie` another session in a browser. */
export interface TestPerson extends Required<Pick<Credential, "token">> {
  readonly id: string;
  readonly email: string;
  readonly session_id: string;
  /** Credentials of the browser only. */
  readonly browser: { readonly cookie: string };
  readonly browser_session_id: string;
}

export interface TestOrg {
  readonly id: string;
  readonly name: string;
}

/** An organization with a person of each role, and another organization with an unrelated owner. */
export interface TestPeople {
  readonly org: TestOrg;
  readonly owner: TestPerson;
  readonly admin: TestPerson;
  readonly member: TestPerson;
  readonly other_org: TestOrg;
  /** Owner of the other organization. */
  readonly outsider: TestPerson;
}

/** Inserts a person with a session. Signing up would cost time for a password that few tests need. */
export async function makePerson(server: TestServer, name = "ann"): Promise<TestPerson> {
  const suffix = randomBytes(4).toString("hex");
  const person = { id: `user_${suffix}`, email: `${name}.${suffix}@example.com` };
  await server.deps.db
    .insertInto("identity.users")
    .values({ ...person, name, email_verified: true, image: null })
    .execute();
  const terminal = await makeSession(server, person.id);
  const browser = await makeSession(server, person.id, "browser");
  const { token, session_id: sessionId } = terminal;
  return {
    ...person,
    token,
    session_id: sessionId,
    browser: { cookie: browser.cookie },
    browser_session_id: browser.session_id,
  };
}

/** Adds another session of a person. */
export async function makeSession(
  server: TestServer,
  userId: string,
  client: "cli" | "browser" = "cli",
): Promise<Pick<TestPerson, "session_id" | "token"> & { readonly cookie: string }> {
  const [sessionId, token] = [randomBytes(12).toString("hex"), randomBytes(24).toString("base64url")];
  const expiresAt = new Date(Date.now() + 3_600_000);
  await server.deps.db
    .insertInto("identity.sessions")
    .values({
      id: sessionId,
      user_id: userId,
      token_hash: hashCredential(token),
      client,
      expires_at: expiresAt,
      ip_address: "127.0.0.1",
      user_agent: "test",
    })
    .execute();
  const cookie = server.deps.identity.cookie.write(token, 60).split(";")[0] ?? "";
  return { session_id: sessionId, token, cookie };
}

/** Creates a key of the organization as the person. Returns its text. */
export async function makeKey(
  server: TestServer,
  org: TestOrg,
  as: TestPerson,
  body: { readonly name: string; readonly grants?: readonly string[]; readonly expires_in_s?: number },
): Promise<string> {
  const made = await server.ask("keyCreate", { as, params: { org: org.name }, body } as never);
  if (made.status !== 201) throw new Error(made.text);
  return made.json.api_key;
}

/** Creates an organization and switches the owner's session to it, without its `main`. */
export async function makeOrg(server: TestServer, owner: TestPerson, name?: string): Promise<TestOrg> {
  const org = await server.deps.db
    .insertInto("control.organizations")
    .values({
      name: name ?? `org-${randomBytes(6).toString("hex")}`,
      display_name: "An organization",
      database_quota: 3,
    })
    .returning(["id", "name"])
    .executeTakeFirstOrThrow();
  await join(server, org, owner, "owner");
  return org;
}

/** Adds the person as a member and switches their session. */
export async function join(server: TestServer, org: TestOrg, person: TestPerson, role: Role): Promise<void> {
  const { db } = server.deps;
  await db.insertInto("control.members").values({ org_id: org.id, user_id: person.id, role }).execute();
  await db
    .insertInto("control.session_orgs")
    .values({ session_id: person.session_id, org_id: org.id })
    .onConflict((conflict) => conflict.column("session_id").doUpdateSet({ org_id: org.id }))
    .execute();
}

export async function makePeople(server: TestServer): Promise<TestPeople> {
  const [owner, admin, member, outsider] = await Promise.all(
    ["owner", "admin", "member", "outsider"].map((name) => makePerson(server, name)),
  );
  if (!owner || !admin || !member || !outsider) throw new Error("There are four.");
  const org = await makeOrg(server, owner);
  const otherOrg = await makeOrg(server, outsider);
  await join(server, org, admin, "admin");
  await join(server, org, member, "member");
  return { org, owner, admin, member, other_org: otherOrg, outsider };
}
