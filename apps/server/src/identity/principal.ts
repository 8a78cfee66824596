import { appError } from "@appdb/contract/errors";
import { type RawBuilder, sql } from "kysely";
import type { Principal } from "../audit/principal.ts";
import { type ControlDatabase, prepareByValue } from "../database/pool.ts";
import { hashCredential } from "./tokens/hashed-tokens.ts";
import type { SessionCookie } from "./tokens/session-cookie.ts";
import { absoluteEnd, extendSession, type SessionLives, TOUCH_S } from "./tokens/session-lives.ts";

/** The principal of a valid key. */
export type KeyPrincipal = Omit<Principal, "session_id" | "credential"> & { readonly kind: "key" | "grant_key" };

/** Looks up a key's text. Undefined if it is wrong, expired or deleted. */
export type VerifyKey = (text: string) => Promise<KeyPrincipal | undefined>;

export interface ShownCredentials {
  readonly api_key: string | undefined;
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
}

export interface Resolved {
  readonly principal: Principal | undefined;
  /** The cookie to set again, because the session was extended. */
  readonly set_cookie: string | undefined;
}

export interface ResolveDeps {
  readonly db: ControlDatabase;
  readonly readSession: ReturnType<typeof readSessionIn>;
  readonly verifyKey: VerifyKey;
  readonly cookie: SessionCookie;
  readonly session_lives: SessionLives;
}

/**
 * Authenticates a request by API key, then bearer token, then cookie. An invalid credential is refused even next to a
 * valid one. Undefined without a credential, or with the cookie of an ended session.
 * @throws unauthorized
 */
export async function resolvePrincipal(deps: ResolveDeps, shown: ShownCredentials): Promise<Resolved> {
  if (shown.api_key !== undefined) {
    const found = await deps.verifyKey(shown.api_key);
    if (found === undefined) throw badKey();
    return { principal: { ...found, session_id: null, credential: "api_key" }, set_cookie: undefined };
  }
  if (shown.authorization !== undefined) {
    const token = /^Bearer ([A-Za-z0-9_-]{16,200})$/i.exec(shown.authorization)?.[1];
    const found = token === undefined ? undefined : await findSession(deps, token, "bearer");
    if (found === undefined) throw badToken();
    return { principal: found.principal, set_cookie: undefined };
  }
  const token = deps.cookie.read(shown.cookie);
  const found = token === undefined ? undefined : await findSession(deps, token, "cookie");
  if (token === undefined || found === undefined) return { principal: undefined, set_cookie: undefined };
  return {
    principal: found.principal,
    set_cookie: found.prolonged_s === undefined ? undefined : deps.cookie.write(token, found.prolonged_s),
  };
}

/** Reads an active session by its token's hash, with its person and organization. */
export function readSessionIn(db: ControlDatabase, lives: SessionLives) {
  return prepareByValue(db, (db, tokenHash) =>
    db
      .selectFrom("identity.sessions as s")
      .innerJoin("identity.users as u", "u.id", "s.user_id")
      .leftJoin("control.session_orgs as so", "so.session_id", "s.id")
      .leftJoin("control.members as m", (join) =>
        join.onRef("m.org_id", "=", "so.org_id").onRef("m.user_id", "=", "s.user_id"),
      )
      .leftJoin("control.organizations as o", "o.id", "m.org_id")
      .select([
        "s.id as session_id",
        "s.user_id",
        "s.client",
        "s.expires_at",
        "u.email",
        "u.name",
        "o.id as org_id",
        "o.name as org_name",
        suspensionOf("o").as("suspension"),
        "m.role",
        sql<boolean>`s.updated_at < now() - make_interval(secs => ${sql.lit(TOUCH_S)})`.as("is_due"),
      ])
      .where("s.token_hash", "=", tokenHash)
      .where("s.expires_at", ">", sql<Date>`now()`)
      .where(absoluteEnd("s", lives), ">", sql<Date>`now()`),
  );
}

/** The suspension of the organization at this alias. Null if it is not suspended. */
export function suspensionOf(alias: string): RawBuilder<string | null> {
  const at = sql.ref(`${alias}.suspended_at`);
  return sql`case when ${at} is not null then coalesce(${sql.ref(`${alias}.suspended_for`)}, '') end`;
}

async function findSession(
  { db, readSession, session_lives: sessionLives }: ResolveDeps,
  token: string,
  credential: "bearer" | "cookie",
): Promise<{ principal: Principal; prolonged_s: number | undefined } | undefined> {
  const row = await readSession(hashCredential(token));
  // a cookie's token is invalid as a bearer token, and vice versa
  if (row === undefined || row.client !== (credential === "cookie" ? "browser" : "cli")) return undefined;
  const prolonged = row.is_due ? await extendSession(db, row.session_id, sessionLives) : undefined;
  const organization =
    row.org_id === null || row.org_name === null || row.role === null
      ? null
      : { id: row.org_id, name: row.org_name, role: row.role, suspension: row.suspension };
  return {
    principal: {
      kind: "user",
      user_id: row.user_id,
      email: row.email,
      name: row.name,
      session_id: row.session_id,
      key: null,
      organization,
      expires_at: prolonged?.expires_at ?? row.expires_at,
      credential,
    },
    prolonged_s: prolonged?.rest_s,
  };
}

function badKey(): Error {
  return appError("unauthorized", {
    detail: "The API key in X-api-key is wrong, has expired or was deleted.",
    hint: "Use another key, or unset it to use the session: unset SERVICE_API_KEY",
  });
}

function badToken(): Error {
  return appError("unauthorized", {
    detail: "The session in the Authorization header has ended or never existed.",
    hint: "Sign in again: cli login",
  });
}
