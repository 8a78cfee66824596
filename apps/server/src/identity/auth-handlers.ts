import { AppError, appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import * as z from "zod";
import type { RecordEvent } from "../audit/event.ts";
import type { CallClient, Principal } from "../audit/principal.ts";
import type { ControlDatabase } from "../database/pool.ts";
import type { MasterKey } from "../secrets/master-key.ts";
import { asAllowedSignUp } from "./auth.ts";
import type { AuthCall, AuthHandlers } from "./auth-call.ts";
import type { Identity } from "./identity.ts";
import type { Attempts } from "./second-factor/attempts.ts";
import { requireRecentProof } from "./second-factor/recent-proof.ts";
import { assertStrongPassword } from "./second-factor/weak-passwords.ts";
import { signInByPassword } from "./sign-in.ts";
import { assertMaySignUp } from "./sign-up.ts";
import { hashCredential } from "./tokens/hashed-tokens.ts";

export interface AuthHandlerDeps {
  readonly db: ControlDatabase;
  readonly attempts: Attempts;
  readonly recordEvent: RecordEvent;
  readonly sign_up: "invitation" | "open";
  readonly can_mail: boolean;
  readonly identity: Identity;
  readonly master_key: MasterKey;
  /** How long a proof of identity is valid for dangerous actions. */
  readonly confirm_s: number;
}

/** Wraps better-auth's routes: limits attempts before them and writes the audit log after them. */
export function createAuthHandlers(deps: AuthHandlerDeps): AuthHandlers {
  const { attempts } = deps;
  return {
    async "sign-up/email"({ body, client, run }) {
      await attempts.take("sign_up_address", client.ip_address);
      const { invitation, ...account } = body;
      // checked before better-auth, so that a closed server reveals no accounts
      await assertMaySignUp(deps, { email: account.email, is_verified: false, invitation });
      assertStrongPassword(account.password, account.email);
      const response = await asAllowedSignUp(() => run("sign-up/email", account));
      if (response.ok) await record(deps, "session.create", account.email, client, "succeeded", { by: "sign-up" });
      return response;
    },
    async "sign-in/email"(call) {
      const { body, client } = call;
      const response = await signInByPassword(deps, call).catch(async (error: unknown) => {
        if (error instanceof AppError && error.code === "second_factor_wrong")
          await record(deps, "sign_in.refused", body.email, client, "refused", { by: "second factor" });
        throw error;
      });
      if (response.ok) await record(deps, "session.create", body.email, client, "succeeded", { by: "password" });
      else await record(deps, "sign_in.refused", body.email, client, "refused", {});
      return response;
    },
    async "sign-in/oauth2"({ body, client, run }) {
      await attempts.take("sign_in_address", client.ip_address);
      const errorCallbackURL = "/sign-in";
      return await run("sign-in/social", {
        provider: body.providerId,
        callbackURL: body.callbackURL,
        errorCallbackURL,
        disableRedirect: true,
      });
    },
    async "sign-out"({ principal, client, run }) {
      const response = await run("sign-out", {});
      if (response.ok && principal?.email) {
        await record(deps, "session.revoke", principal.email, client, "succeeded", { by: "sign-out" }, principal);
      }
      return response;
    },
    async "request-password-reset"({ body, client, run }) {
      if (!deps.can_mail) {
        throw appError("no_mail", {
          detail: "This server cannot send mail, so it cannot send a link to set a new password.",
          hint: "Ask the operator of the server for a link: cli server reset-link <address>",
        });
      }
      await attempts.take("reset_address", client.ip_address);
      await attempts.take("reset_account", body.email);
      return await run("request-password-reset", { email: body.email });
    },
    async "reset-password"({ body, client, run }) {
      await attempts.take("reset_address", client.ip_address);
      const email = await deps.identity.findResetEmail(body.token);
      if (email !== undefined) assertStrongPassword(body.newPassword, email);
      return await run("reset-password", body);
    },
    async "device/code"({ body, client, run }) {
      await attempts.take("device_request_address", client.ip_address);
      // the caller is not authenticated, so it may not name the account that confirms
      const response = await run("device/code", {
        client_id: body.client_id,
        ...(body.scope ? { scope: body.scope } : {}),
      });
      if (response.ok) await storeDeviceRequest(deps.db, response, client);
      return response;
    },
    async "device/token"({ body, client, run }) {
      const response = await run("device/token", body);
      if (response.ok) await recordDeviceSession(deps, response, client);
      return response;
    },
    "device/approve": (call) => decide(deps, "device/approve", call),
    "device/deny": (call) => decide(deps, "device/deny", call),
  };
}

/** Limits guesses of codes by account and by address. A correct code resets the account's count. */
async function decide(
  deps: AuthHandlerDeps,
  path: "device/approve" | "device/deny",
  { body, principal, client, run }: AuthCall<"device/approve"> | AuthCall<"device/deny">,
): Promise<Response> {
  if (principal?.user_id == null)
    throw appError("unauthorized", { detail: "You are not signed in.", hint: "Sign in first." });
  await deps.attempts.take("device_code_address", client.ip_address);
  await deps.attempts.take("device_code_account", principal.user_id);
  // the terminal's session counts as recently confirmed, so a stolen session could create one
  if (path === "device/approve") await requireRecentProof(deps.db, principal, deps.confirm_s);
  const response = await run(path, body);
  if (!response.ok) return response;
  await deps.attempts.forget("device_code_account", principal.user_id);
  const action = path === "device/approve" ? "device.approve" : "device.deny";
  await record(deps, action, body.userCode.slice(0, 20), client, "succeeded", {}, principal);
  return response;
}

const deviceAnswer = z.object({ user_code: z.string() });

async function storeDeviceRequest(db: ControlDatabase, response: Response, client: CallClient): Promise<void> {
  const { user_code: userCode } = deviceAnswer.parse(await response.clone().json());
  await db
    .insertInto("identity.device_requests")
    .values({ user_code: userCode, ip_address: client.ip_address, user_agent: client.client })
    .execute();
}

const tokenAnswer = z.object({ access_token: z.string() });

async function recordDeviceSession(deps: AuthHandlerDeps, response: Response, client: CallClient): Promise<void> {
  const { access_token: accessToken } = tokenAnswer.parse(await response.clone().json());
  const found = await deps.db
    .selectFrom("identity.sessions as s")
    .innerJoin("identity.users as u", "u.id", "s.user_id")
    .select("u.email")
    .where("s.token_hash", "=", hashCredential(accessToken))
    .where("s.expires_at", ">", sql<Date>`now()`)
    .executeTakeFirst();
  if (found !== undefined) await record(deps, "session.create", found.email, client, "succeeded", { by: "device" });
}

async function record(
  deps: Pick<AuthHandlerDeps, "db" | "recordEvent">,
  action: string,
  target: string,
  client: CallClient,
  outcome: "succeeded" | "refused",
  detail: Record<string, unknown>,
  principal?: Principal,
): Promise<void> {
  const actor = outcome === "refused" ? "guest" : (principal?.email ?? target);
  await deps.recordEvent(deps.db, { action, target, org_id: null, actor, principal, ...client, outcome, detail });
}
