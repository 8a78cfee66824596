import type { Logger } from "@appdb/engine/ports";
import type { Secret } from "@appdb/system/secret";
import type { FastifyRequest } from "fastify";
import type { OidcConfig } from "../config/config.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { type Auth, createAuth, type PasswordHasher, RESET_S, resetUrl } from "./auth.ts";
import type { Mail } from "./mail.ts";
import { type Resolved, readSessionIn, resolvePrincipal, type ShownCredentials, type VerifyKey } from "./principal.ts";
import { createKnownDevice, type KnownDevice } from "./second-factor/known-device.ts";
import { assertMaySignUp } from "./sign-up.ts";
import type { Site } from "./tokens/csrf.ts";
import { createSessionCookie, type SessionCookie } from "./tokens/session-cookie.ts";
import type { SessionLives } from "./tokens/session-lives.ts";
import { makeToken } from "./tokens/tokens.ts";

export interface IdentityDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly site: Site;
  readonly secret: Secret;
  readonly oidc: OidcConfig | undefined;
  readonly sign_up: "invitation" | "open";
  readonly mail: Mail | undefined;
  readonly session_lives: SessionLives;
  readonly verifyKey: VerifyKey;
  readonly passwords?: PasswordHasher | undefined;
}

/** Authentication of people and keys. */
export interface Identity {
  readonly cookie: SessionCookie;
  readonly known_device: KnownDevice;
  /** better-auth, created at first use, because the server's address is known only once it listens. */
  auth(): Auth;
  resolve(request: Pick<FastifyRequest, "headers">): Promise<Resolved>;
  /** Whether this is the person's password. False for a person without one. */
  checkPassword(userId: string, password: string): Promise<boolean>;
  /** The stored form of a new password. */
  hashPassword(password: string): Promise<string>;
  /** The account's address for a reset token. Undefined if the token is wrong, used or expired. */
  findResetEmail(token: string): Promise<string | undefined>;
  /** Creates a password reset link for the operator. Undefined if there is no such account. */
  makeResetLink(email: string): Promise<string | undefined>;
}

export function createIdentity(deps: IdentityDeps): Identity {
  const { db, site, session_lives: sessionLives } = deps;
  const isSecure = () => site.url.startsWith("https:");
  const cookie = createSessionCookie(deps.secret, isSecure);
  let made: Auth | undefined;
  const auth = () => {
    made ??= createAuth({
      ...deps,
      assertMaySignUp: (signUp) => assertMaySignUp(deps, signUp),
      sendReset: async (email, url) => {
        if (deps.mail === undefined) throw new Error("A password reset needs mail.");
        await deps.mail.send({
          to: email,
          subject: "A new password",
          text: `Someone requested a new password for your account at ${site.url}.\n\nSet it here, within an hour:\n${url}\n\nIf you did not request it, ignore this mail. Nothing has changed.\n`,
        });
      },
    });
    return made;
  };
  const readSession = readSessionIn(db, sessionLives);
  return {
    cookie,
    known_device: createKnownDevice(deps.secret, isSecure),
    auth,
    checkPassword: async (userId, password) => {
      const found = await db
        .selectFrom("identity.accounts")
        .select("password")
        .where("user_id", "=", userId)
        .where("password", "is not", null)
        .executeTakeFirst();
      if (found?.password == null) return false;
      const context = await auth().$context;
      return await context.password.verify({ hash: found.password, password });
    },
    hashPassword: async (password) => (await auth().$context).password.hash(password),
    findResetEmail: async (token) => {
      const { internalAdapter } = await auth().$context;
      const found = await internalAdapter.findVerificationValue(`reset-password:${token}`);
      if (found === null) return undefined;
      return (await internalAdapter.findUserById(found.value))?.email;
    },
    resolve: (request) =>
      resolvePrincipal(
        { db, readSession, verifyKey: deps.verifyKey, cookie, session_lives: sessionLives },
        shownBy(request),
      ),
    makeResetLink: async (email) => {
      const { internalAdapter } = await auth().$context;
      const found = await internalAdapter.findUserByEmail(email.toLowerCase());
      if (found === null) return undefined;
      const token = makeToken();
      const expiresAt = new Date(Date.now() + RESET_S * 1000);
      await internalAdapter.createVerificationValue({
        identifier: `reset-password:${token}`,
        value: found.user.id,
        expiresAt,
      });
      return resetUrl(site, token);
    },
  };
}

/** The credentials of a request. A repeated header is joined, which matches no valid credential. */
function shownBy({ headers }: Pick<FastifyRequest, "headers">): ShownCredentials {
  const key = headers["x-api-key"];
  return {
    api_key: Array.isArray(key) ? key.join(", ") : key,
    authorization: headers.authorization,
    cookie: headers.cookie,
  };
}
