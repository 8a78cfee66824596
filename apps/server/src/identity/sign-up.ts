import { appError } from "@appdb/contract/errors";
import { sql } from "kysely";
import type { ControlDatabase } from "../database/pool.ts";
import type { SignUp } from "./auth.ts";
import { hashToken } from "./tokens/tokens.ts";

export interface SignUpDeps {
  readonly db: ControlDatabase;
  readonly sign_up: "invitation" | "open";
}

/** Checks that this address may sign up now. @throws sign_up_closed */
export async function assertMaySignUp(deps: SignUpDeps, signUp: SignUp): Promise<void> {
  if (await hasNoUser(deps.db)) {
    throw appError("sign_up_closed", {
      detail: "Create the first account with the link that the server printed when it started.",
      hint: "Open that link; the server prints a new one at each start.",
    });
  }
  if (deps.sign_up === "open") return;
  if (await isInvited(deps.db, signUp)) return;
  throw appError("sign_up_closed", {
    detail: "This server creates accounts by invitation only, and this link does not belong to an open invitation.",
    hint: "Ask a member of an organization for an invitation, and open its link.",
  });
}

export function accountExists(cause?: unknown): Error {
  return appError("account_exists", {
    detail: "An account with this address already exists.",
    hint: "Sign in with it.",
    cause,
  });
}

export async function hasNoUser(db: ControlDatabase): Promise<boolean> {
  const found = await db.selectFrom("identity.users").select("id").limit(1).executeTakeFirst();
  return found === undefined;
}

/** Whether the invitation's link matches the address, or the OIDC provider verified the address. */
async function isInvited(
  db: ControlDatabase,
  { email, invitation, is_verified: isVerified }: SignUp,
): Promise<boolean> {
  if (invitation === undefined && !isVerified) return false;
  let query = db
    .selectFrom("control.invitations")
    .select("id")
    .where("email", "=", email.toLowerCase())
    .where("expires_at", ">", sql<Date>`now()`);
  if (invitation !== undefined) query = query.where("token_hash", "=", hashToken(invitation));
  return (await query.limit(1).executeTakeFirst()) !== undefined;
}
