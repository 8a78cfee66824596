import { appError } from "@appdb/contract/errors";
import type {
  AccountSecurity,
  BegunFactor,
  confirmSchema,
  EnabledFactor,
  factorDisableSchema,
  passwordChangeSchema,
} from "@appdb/contract/routes/control-account";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import type * as z from "zod";
import type { RecordEvent } from "../audit/event.ts";
import type { CallClient } from "../audit/principal.ts";
import type { Tx } from "../database/pool.ts";
import type { Identity } from "./identity.ts";
import type { Mail } from "./mail.ts";
import type { Person } from "./person.ts";
import { recordProof } from "./second-factor/recent-proof.ts";
import {
  beginSecondFactor,
  enableSecondFactor,
  hasSecondFactor,
  removeSecondFactor,
  requireSecondFactor,
  type SecondFactorDeps,
} from "./second-factor/second-factor.ts";
import { assertStrongPassword } from "./second-factor/weak-passwords.ts";
import type { Site } from "./tokens/csrf.ts";

export interface AccountDeps extends SecondFactorDeps {
  readonly identity: Identity;
  readonly site: Site;
  readonly mail: Mail | undefined;
  readonly log: Logger;
  readonly recordEvent: RecordEvent;
  readonly confirm_s: number;
}

/** The security settings of the person's account. */
export async function showSecurity({ db, confirm_s: confirmS }: AccountDeps, person: Person): Promise<AccountSecurity> {
  const { rows } = await sql<{ has_password: boolean; since: Date | null; codes: number; until: Date }>`
    select
      exists (select from identity.accounts a where a.user_id = s.user_id and a.password is not null) as has_password,
      (select enabled_at from identity.second_factors f where f.user_id = s.user_id) as since,
      (select count(*)::int from identity.recovery_codes r where r.user_id = s.user_id) as codes,
      s.authenticated_at + make_interval(secs => ${confirmS}::int) as until
    from identity.sessions s where s.id = ${person.session_id}`.execute(db);
  const [row] = rows;
  if (row === undefined) throw appError("unauthorized", { detail: "The session has ended.", hint: "Sign in again." });
  return {
    has_password: row.has_password,
    second_factor_since: row.since?.toISOString() ?? null,
    recovery_codes: row.codes,
    confirmed_until: row.until.toISOString(),
  };
}

/**
 * Changes the password of a person who knows the current one, and can end their other sessions.
 * @throws sign_in_failed, weak_password, too_many_attempts
 */
export async function changePassword(
  deps: AccountDeps,
  person: Person,
  input: z.output<typeof passwordChangeSchema>,
  client: CallClient,
): Promise<void> {
  await requirePassword(deps, person, input.password);
  assertStrongPassword(input.new_password, person.email);
  const password = await deps.identity.hashPassword(input.new_password);
  await deps.db.transaction().execute(async (tx) => {
    await tx
      .updateTable("identity.accounts")
      .set({ password, updated_at: sql`now()` })
      .where("user_id", "=", person.user_id)
      .where("password", "is not", null)
      .execute();
    // earlier password reset links become invalid
    await tx.deleteFrom("identity.verifications").where("value", "=", person.user_id).execute();
    if (input.end_other_sessions) {
      await tx
        .deleteFrom("identity.sessions")
        .where("user_id", "=", person.user_id)
        .where("id", "!=", person.session_id)
        .execute();
    }
    // with a second factor, the password alone proves nothing
    if (!(await hasSecondFactor(tx, person.user_id))) await recordProof(tx, person.session_id, deps.confirm_s);
    await record(deps, tx, person, client, "password.change", { others_ended: input.end_other_sessions });
  });
  sendNotice(deps, person.email, "The password of your account was changed");
}

/** Confirms the person. @throws sign_in_failed, second_factor_required, second_factor_wrong, too_many_attempts */
export async function confirmPerson(
  deps: AccountDeps,
  person: Person,
  { password, code }: z.output<typeof confirmSchema>,
): Promise<{ confirmed_until: string }> {
  await requirePassword(deps, person, password);
  await requireSecondFactor(deps, person.user_id, code);
  const until = await recordProof(deps.db, person.session_id, deps.confirm_s);
  return { confirmed_until: until.toISOString() };
}

/** @throws sign_in_failed, second_factor_conflict, too_many_attempts */
export async function beginFactor(deps: AccountDeps, person: Person, password: string): Promise<BegunFactor> {
  await requirePassword(deps, person, password);
  return await beginSecondFactor(deps, person, new URL(deps.site.url).host);
}

/** @throws second_factor_conflict, second_factor_wrong, too_many_attempts */
export async function enableFactor(
  deps: AccountDeps,
  person: Person,
  code: string,
  client: CallClient,
): Promise<EnabledFactor> {
  await deps.attempts.take("second_factor_account", person.user_id);
  const recoveryCodes = await deps.db.transaction().execute(async (tx) => {
    const codes = await enableSecondFactor(deps, tx, person.user_id, code);
    await record(deps, tx, person, client, "second_factor.enable", {});
    return codes;
  });
  await deps.attempts.forget("second_factor_account", person.user_id);
  sendNotice(deps, person.email, "A second factor was set up for your account");
  return { recovery_codes: recoveryCodes };
}

/** @throws sign_in_failed, second_factor_wrong, too_many_attempts */
export async function disableFactor(
  deps: AccountDeps,
  person: Person,
  { password, code }: z.output<typeof factorDisableSchema>,
  client: CallClient,
): Promise<void> {
  await requirePassword(deps, person, password);
  await requireSecondFactor(deps, person.user_id, code);
  await deps.db.transaction().execute(async (tx) => {
    await removeSecondFactor(tx, person.user_id);
    await record(deps, tx, person, client, "second_factor.disable", {});
  });
  sendNotice(deps, person.email, "The second factor of your account was removed");
}

/** Checks the password and limits guesses per account. @throws sign_in_failed, too_many_attempts */
async function requirePassword({ attempts, identity }: AccountDeps, person: Person, password: string): Promise<void> {
  await attempts.take("confirm_account", person.user_id);
  if (!(await identity.checkPassword(person.user_id, password))) {
    throw appError("sign_in_failed", {
      detail: "The current password is wrong, or the account has no password.",
      hint: "Try again. If you sign in with a provider, sign in there again.",
    });
  }
  await attempts.forget("confirm_account", person.user_id);
}

/** Notifies the person by mail, after the answer: someone else may have made the change. */
function sendNotice({ mail, log, site }: AccountDeps, to: string, what: string): void {
  if (mail === undefined) return;
  const text = `${what} at ${site.url}.\n\nIf it was not you, set a new password at ${site.url}/forgot and end all sessions.\n`;
  mail.send({ to, subject: what, text }).catch((error: unknown) => log.error({ err: error }, "could not send a mail"));
}

async function record(
  { recordEvent }: AccountDeps,
  tx: Tx,
  person: Person,
  client: CallClient,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> {
  const { email } = person;
  await recordEvent(tx, {
    action,
    target: email,
    org_id: null,
    actor: email,
    principal: person,
    ...client,
    outcome: "succeeded",
    detail,
  });
}
