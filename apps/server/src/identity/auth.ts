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
/** Lifetime of a device code, and the CLI's poll interval. */
const DEVICE = { expiresIn: "15m", interval: "5s" } as const;
/** The header from which better-auth reads the caller's address. Only mount-auth.ts sets it. */
export const ADDRESS_HEADER = "x-resolved-address";
/** Lifetime of a password reset link. */
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
  /** Checks that this address may sign up now. @throws sign_up_closed */
  readonly assertMaySignUp: (input: SignUp) => Promise<void>;
  /** Mails a reset link. */
  readonly sendReset: (email: string, url: string) => Promise<void>;
}

export interface SignUp {
  readonly email: string;
  /** Whether a trusted party, the OIDC provider, verified the address. */
  readonly is_verified: boolean;
  /** The token of an invitation. */
  readonly invitation: string | undefined;
}

/** Runs a sign-up that was already allowed. better-auth's hooks read this from the async context. */
export function asAllowedSignUp<T>(run: () => Promise<T>): Promise<T> {
  return signUps.run(true, run);
}

const signUps = new AsyncLocalStorage<true>();

/** Captures the cause of better-auth's failures, which it answers with a plain 500 or 422. */
const failures = new AsyncLocalStorage<{ cause?: unknown }>();

/**
 * Calls better-auth. Returns its refusals, and throws unexpected errors such as a lost database.
 * @throws account_exists if two requests sign up one address at once
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

/** Configures better-auth with our tables. Only this folder uses it. */
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
    // attempts.ts limits attempts in PostgreSQL, for all servers
    rateLimit: { enabled: false },
    // its messages may contain addresses of people; the answer reports the failure
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
      // principal.ts extends sessions, by the database's clock and up to their absolute end
      disableSessionRefresh: true,
      additionalFields: { client: { type: "string", input: false, returned: false, defaultValue: "browser" } },
    },
    account: { modelName: "accounts", fields: ACCOUNT_FIELDS, updateAccountOnSignIn: false },
    // stores the hash of a reset token
    verification: { modelName: "verifications", fields: TIME_FIELDS, storeIdentifier: "hashed" },
    databaseHooks: {
      user: {
        create: {
          before: async (user, context) => {
            // the caller has already checked. A second query here, inside a transaction, would need a second
            // connection: enough concurrent sign-ups would deadlock the pool
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
          // stores no provider tokens: they are used only to identify the person
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
      // we choose the names' prefix: better-auth supports only __Secure-
      useSecureCookies: false,
      defaultCookieAttributes: { secure: isSecure },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      // mails are sent after the answer, whose timing must not reveal whether an account exists
      backgroundTasks: {
        handler: (work) =>
          void Promise.resolve(work).catch((error: unknown) => log.error({ err: error }, "could not send a mail")),
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

/** The dashboard's page for a new password. */
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
        // a provider may know only the address
        mapProfileToUser: ({ name, email }) => ({ name: name || email || "" }),
      },
    ],
  });
}

/** better-auth passes on only its own error class. */
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
