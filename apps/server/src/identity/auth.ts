import { AsyncLocalStorage } from "node:async_hooks";
import { DEVICE_CLIENT_ID } from "@appdb/contract/routes/control-paths";
import type { Logger } from "@appdb/engine/ports";
import type { Secret } from "@appdb/system/secret";
import { kyselyAdapter } from "@better-auth/kysely-adapter";
import { type BetterAuthOptions, betterAuth } from "better-auth";
import { APIError } from "better-auth/api";
import { bearer } from "better-auth/plugins/bearer";
import { deviceAuthorization } from "better-auth/plugins/device-authorization";
import { genericOAuth } from "better-auth/plugins/generic-oauth";
import type { OidcConfig } from "../config/config.ts";
import { type ControlDatabase, isTaken } from "../database/pool.ts";
import { accountExists } from "./sign-up.ts";
import type { Site } from "./tokens/csrf.ts";
import { hashCredentials } from "./tokens/hashed-tokens.ts";
import { cookiePrefix } from "./tokens/session-cookie.ts";
import { IDLE_S, type SessionLives, startSession } from "./tokens/session-lives.ts";
import { chooseOrg } from "./tokens/session-orgs.ts";

export const PASSWORD_CHARACTERS = { min: 10, max: 200 } as const;
export const OIDC_PROVIDER = "oidc";
/** How long a code of the device flow is good, and how often the command may ask. */
const DEVICE = { expiresIn: "15m", interval: "5s" } as const;
/** Where better-auth reads the caller's address: a header that only the mount sets (mount.ts). */
export const ADDRESS_HEADER = "x-resolved-address";
/** How long a link to a new password is good. */
export const RESET_S = 3600;

export type PasswordHasher = NonNullable<NonNullable<BetterAuthOptions["emailAndPassword"]>["password"]>;

export interface AuthDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly site: Site;
  readonly secret: Secret;
  readonly oidc: OidcConfig | undefined;
  readonly session_lives: SessionLives;
  /** How passwords are stored. The default is the scrypt of better-auth. */
  readonly passwords?: PasswordHasher | undefined;
  /** Whether this address may get an account now. @throws sign_up_closed */
  readonly assertMaySignUp: (input: SignUp) => Promise<void>;
  /** Hands a reset link on, by mail. */
  readonly sendReset: (email: string, url: string) => Promise<void>;
}

export interface SignUp {
  readonly email: string;
  /** Whether somebody trusted says that the address is theirs: the OIDC provider. */
  readonly is_verified: boolean;
  /** The token of an invitation. */
  readonly invitation: string | undefined;
}

/** Runs a sign-up that was found to be allowed, which better-auth's hooks cannot know otherwise. */
export function asAllowedSignUp<T>(run: () => Promise<T>): Promise<T> {
  return signUps.run(true, run);
}

const signUps = new AsyncLocalStorage<true>();

/** What went wrong inside of better-auth, which tells its log and answers a 500 or a 422 without saying what. */
const failures = new AsyncLocalStorage<{ cause?: unknown }>();

/**
 * Has better-auth answer. Its refusals are answers; what it did not expect, such as a database that is away, is thrown.
 * @throws account_exists where two sign up at once with one address
 */
export async function handleAuth(auth: Auth, request: Request): Promise<Response> {
  const failure: { cause?: unknown } = {};
  const response = await failures.run(failure, () => auth.handler(request));
  if (response.status < 400 || failure.cause === undefined) return response;
  throw isTaken(failure.cause, "users_email_key") ? accountExists(failure.cause) : failure.cause;
}

function isFailure(value: unknown): boolean {
  return value instanceof Error && !(value instanceof APIError);
}

/** better-auth over our tables: accounts, sessions, passwords, the device flow, OIDC. Only this folder knows it. */
export function createAuth(deps: AuthDeps) {
  const { db, log, oidc, site } = deps;
  const isSecure = site.url.startsWith("https:");
  const adapter = kyselyAdapter(db.withSchema("identity"), { type: "postgres", transaction: true });
  return betterAuth({
    appName: "appdb",
    baseURL: site.url,
    basePath: "/v1/auth",
    secret: deps.secret.reveal(),
    trustedOrigins: [site.url],
    database: (options: BetterAuthOptions) => hashCredentials(adapter(options)),
    telemetry: { enabled: false },
    // attempts are limited in PostgreSQL, for all servers together (attempts.ts)
    rateLimit: { enabled: false },
    // its messages may hold addresses of people; what failed is told by the answer
    logger: {
      log: (level, message, ...more: unknown[]) => {
        const failure = failures.getStore();
        if (failure !== undefined) failure.cause ??= more.find(isFailure);
        log[level === "warn" || level === "error" ? "warn" : "debug"](
          { from: "better-auth", what: message.split(":")[0] },
          "identity",
        );
      },
    },
    emailAndPassword: {
      enabled: true,
      password: deps.passwords ?? {},
      minPasswordLength: PASSWORD_CHARACTERS.min,
      maxPasswordLength: PASSWORD_CHARACTERS.max,
      resetPasswordTokenExpiresIn: RESET_S,
      revokeSessionsOnPasswordReset: true,
      sendResetPassword: async ({ user, token }) => deps.sendReset(user.email, resetUrl(site, token)),
    },
    onAPIError: { errorURL: `${site.url}/sign-in` },
    user: { modelName: "users", fields: USER_FIELDS },
    session: {
      modelName: "sessions",
      fields: SESSION_FIELDS,
      expiresIn: IDLE_S,
      // principal.ts prolongs sessions, by the clock of the database and up to their absolute end
      disableSessionRefresh: true,
      additionalFields: { client: { type: "string", input: false, returned: false, defaultValue: "browser" } },
    },
    account: { modelName: "accounts", fields: ACCOUNT_FIELDS, updateAccountOnSignIn: false },
    // of the token of a reset, a hash is kept
    verification: { modelName: "verifications", fields: TIME_FIELDS, storeIdentifier: "hashed" },
    databaseHooks: {
      user: {
        create: {
          before: async (user, context) => {
            // whoever asked before has the answer. It is not asked for again here: this is inside a transaction, and as many
            // of those as there are connections would wait for one more until none of them is served
            if (signUps.getStore() !== undefined) return;
            const isVerified = context?.path.startsWith("/callback/") === true && user.emailVerified;
            await deps
              .assertMaySignUp({ email: user.email, is_verified: isVerified, invitation: undefined })
              .catch(refuse);
          },
        },
      },
      account: {
        create: {
          // who somebody is was asked of the provider; nothing else ever is
          before: async (account) => ({
            data: { ...account, accessToken: null, refreshToken: null, idToken: null, scope: null },
          }),
        },
      },
      session: {
        create: {
          before: async (session, context) => ({
            data: { ...session, client: context?.path === "/device/token" ? "cli" : "browser" },
          }),
          after: async (session) => {
            await startSession(db, session.id, deps.session_lives);
            await chooseOrg(db, session.id, session.userId);
          },
        },
      },
    },
    advanced: {
      cookiePrefix: cookiePrefix(isSecure),
      // the prefix of the names is ours: better-auth knows __Secure- alone
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isSecure },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      // a mail is sent after the answer: how long that takes tells nobody whether an account exists
      backgroundTasks: {
        handler: (work) =>
          void Promise.resolve(work).catch((error: unknown) => log.error({ err: error }, "a mail was not sent")),
      },
    },
    plugins: [
      bearer(),
      deviceAuthorization({
        ...DEVICE,
        verificationUri: `${site.url}/device`,
        validateClient: (id) => id === DEVICE_CLIENT_ID,
        schema: { deviceCode: { modelName: "device_codes", fields: DEVICE_FIELDS } },
      }),
      ...(oidc === undefined ? [] : [oidcPlugin(oidc)]),
    ],
  });
}

export type Auth = ReturnType<typeof createAuth>;

/** The page of the dashboard that takes a new password. */
export function resetUrl(site: Site, token: string): string {
  return `${site.url}/reset?token=${encodeURIComponent(token)}`;
}

function oidcPlugin(oidc: OidcConfig) {
  return genericOAuth({
    config: [
      {
        providerId: OIDC_PROVIDER,
        name: oidc.name,
        discoveryUrl: `${oidc.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
        clientId: oidc.client_id,
        clientSecret: oidc.client_secret.reveal(),
        scopes: ["openid", "email", "profile"],
        pkce: true,
        requireIdTokenVerification: true,
        // a provider may know people by their address alone
        mapProfileToUser: ({ name, email }) => ({ name: name || email || "" }),
      },
    ],
  });
}

/** better-auth passes on its own errors only. */
function refuse(error: unknown): never {
  if (error instanceof Error && "code" in error && error.code === "sign_up_closed") {
    throw new APIError("FORBIDDEN", { code: "SIGN_UP_CLOSED", message: error.message });
  }
  throw error;
}

const TIME_FIELDS = { createdAt: "created_at", updatedAt: "updated_at", expiresAt: "expires_at" } as const;
const USER_FIELDS = { emailVerified: "email_verified", createdAt: "created_at", updatedAt: "updated_at" } as const;
const SESSION_FIELDS = {
  ...TIME_FIELDS,
  token: "token_hash",
  userId: "user_id",
  ipAddress: "ip_address",
  userAgent: "user_agent",
} as const;
const ACCOUNT_FIELDS = {
  accountId: "account_id",
  providerId: "provider_id",
  userId: "user_id",
  accessToken: "access_token",
  refreshToken: "refresh_token",
  idToken: "id_token",
  accessTokenExpiresAt: "access_token_expires_at",
  refreshTokenExpiresAt: "refresh_token_expires_at",
  createdAt: "created_at",
  updatedAt: "updated_at",
} as const;
const DEVICE_FIELDS = {
  deviceCode: "device_code_hash",
  userCode: "user_code",
  userId: "user_id",
  clientId: "client_id",
  expiresAt: "expires_at",
  lastPolledAt: "last_polled_at",
  pollingInterval: "polling_interval",
} as const;
