import { createHash, randomBytes } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { BegunFactor } from "@appdb/contract/routes/control-account";
import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { type MasterKey, secondFactorBound } from "../../secrets/master-key.ts";
import type { Attempts } from "./attempts.ts";
import { findTotpStep, makeTotpSecret, toBase32, totpUri } from "./totp.ts";

export const RECOVERY_CODES = 10;
/** 120 random bits: a fast hash without a salt is sufficient. */
const RECOVERY_BYTES = 15;
const TOTP_CODE = /^\d{6}$/;

export interface SecondFactorDeps {
  readonly db: ControlDatabase;
  readonly attempts: Attempts;
  readonly master_key: MasterKey;
}

/**
 * Creates an authenticator secret, which sign-ins use once a first code confirmed it.
 * @throws second_factor_conflict
 */
export async function beginSecondFactor(
  { db, master_key: masterKey }: SecondFactorDeps,
  person: { readonly user_id: string; readonly email: string },
  issuer: string,
): Promise<BegunFactor> {
  const secret = makeTotpSecret();
  const values = { master_key_id: masterKey.id, wrapped: masterKey.wrap(secret, secondFactorBound(person.user_id)) };
  const begun = await db
    .insertInto("identity.second_factors")
    .values({ user_id: person.user_id, ...values })
    .onConflict((conflict) =>
      conflict
        .column("user_id")
        .doUpdateSet({ ...values, last_step: 0, created_at: sql`now()` })
        .where("identity.second_factors.enabled_at", "is", null),
    )
    .returning("user_id")
    .executeTakeFirst();
  if (begun === undefined)
    throw conflict("The account already has a second factor.", "Remove it before you set up another one.");
  return { secret: toBase32(secret), uri: totpUri(secret, issuer, person.email) };
}

/**
 * Enables the second factor with its first code. Returns the recovery codes, which are never shown again. Attempts must
 * be counted before the transaction starts: waiting for a second connection in a transaction can exhaust the pool.
 * @throws second_factor_conflict, second_factor_wrong
 */
export async function enableSecondFactor(
  deps: SecondFactorDeps,
  tx: Tx,
  userId: string,
  code: string,
): Promise<string[]> {
  const factor = await readFactor(tx, userId);
  if (factor === undefined || factor.enabled_at !== null) {
    throw conflict("The setup of a second factor was not started, or is already complete.", "Begin the set-up again.");
  }
  if (!(await useTotp(deps, tx, factor, code))) throw wrongCode();
  await tx
    .updateTable("identity.second_factors")
    .set({ enabled_at: sql`now()` })
    .where("user_id", "=", userId)
    .execute();
  const codes = Array.from({ length: RECOVERY_CODES }, makeRecoveryCode);
  await tx
    .insertInto("identity.recovery_codes")
    .values(codes.map((code) => ({ user_id: userId, code_hash: hashRecoveryCode(code) })))
    .execute();
  return codes;
}

/** Removes the second factor and its recovery codes. */
export async function removeSecondFactor(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom("identity.second_factors").where("user_id", "=", userId).execute();
}

/**
 * Checks a code of an account's second factor. Each code works once. Wrong codes count for `countedAs`.
 * @throws second_factor_required without a code, second_factor_wrong, too_many_attempts
 */
export async function requireSecondFactor(
  deps: SecondFactorDeps,
  userId: string,
  code: string | undefined,
  countedAs = userId,
): Promise<void> {
  const factor = await readFactor(deps.db, userId);
  if (factor === undefined || factor.enabled_at === null) return;
  if (code === undefined) {
    throw appError("second_factor_required", {
      detail: "The account has a second factor.",
      hint: "Send the code of your authenticator app, or a recovery code, as code.",
    });
  }
  await deps.attempts.take("second_factor_account", countedAs);
  const isValid = TOTP_CODE.test(code)
    ? await useTotp(deps, deps.db, factor, code)
    : await useRecovery(deps.db, userId, code);
  if (!isValid) throw wrongCode();
  await deps.attempts.forget("second_factor_account", countedAs);
}

/** Whether the account's sign-ins need a code. */
export async function hasSecondFactor(db: ControlDatabase | Tx, userId: string): Promise<boolean> {
  const factor = await readFactor(db, userId);
  return factor !== undefined && factor.enabled_at !== null;
}

interface Factor {
  readonly user_id: string;
  readonly master_key_id: string;
  readonly wrapped: Buffer;
  readonly enabled_at: Date | null;
}

async function readFactor(db: ControlDatabase | Tx, userId: string): Promise<Factor | undefined> {
  return await db
    .selectFrom("identity.second_factors")
    .select(["user_id", "master_key_id", "wrapped", "enabled_at"])
    .where("user_id", "=", userId)
    .executeTakeFirst();
}

/** True for a valid, unused code of the app. Of two concurrent uses, one succeeds. */
async function useTotp(
  { master_key: masterKey }: SecondFactorDeps,
  db: ControlDatabase | Tx,
  factor: Factor,
  code: string,
): Promise<boolean> {
  const secret = masterKey.unwrap(factor, secondFactorBound(factor.user_id));
  const step = findTotpStep(secret, code, Date.now());
  if (step === undefined) return false;
  const used = await db
    .updateTable("identity.second_factors")
    .set({ last_step: step })
    .where("user_id", "=", factor.user_id)
    .where("last_step", "<", step)
    .returning("user_id")
    .executeTakeFirst();
  return used !== undefined;
}

async function useRecovery(db: ControlDatabase, userId: string, code: string): Promise<boolean> {
  const used = await db
    .deleteFrom("identity.recovery_codes")
    .where("user_id", "=", userId)
    .where("code_hash", "=", hashRecoveryCode(code))
    .returning("user_id")
    .executeTakeFirst();
  return used !== undefined;
}

/** `ABCD-EFGH-IJKL-MNOP-QRST-UVWX` */
function makeRecoveryCode(): string {
  return (toBase32(randomBytes(RECOVERY_BYTES)).match(/.{4}/g) ?? []).join("-");
}

function hashRecoveryCode(code: string): Buffer {
  return createHash("sha256").update(code.replaceAll(/[\s-]/g, "").toUpperCase()).digest();
}

function conflict(detail: string, hint: string): Error {
  return appError("second_factor_conflict", { detail, hint });
}

function wrongCode(): Error {
  return appError("second_factor_wrong", {
    detail: "The code is wrong or was used before.",
    hint: "Wait for the next code in your authenticator app, or use a recovery code.",
  });
}
