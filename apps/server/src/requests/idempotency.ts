import { createHash, hkdfSync } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { Secret } from "@appdb/system/secret";
import { sql } from "kysely";
import type { Principal } from "../audit/principal.ts";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import { KEY_BYTES, openBytes, sealBytes } from "../secrets/sealed-bytes.ts";

/** How long answers are stored for repeated requests. */
const KEEP_S = 86_400;
const KEY = /^[\x21-\x7e]{1,255}$/;

/** Encrypts stored answers: those of created keys contain a secret. */
export interface AnswerSeal {
  seal(text: string): Buffer;
  open(sealed: Buffer): string;
}

export interface OnceInput {
  readonly principal: Principal | undefined;
  /** The route's name and path. A key is valid for one route. */
  readonly route: string;
  /** The Idempotency-Key header. */
  readonly key: string | undefined;
  /** Everything that distinguishes requests. */
  readonly request: unknown;
}

/**
 * Makes a change in one transaction, once per Idempotency-Key. A repeated request gets the first answer, and waits for
 * it if necessary. A failed request is not stored and may be retried with the same key.
 * @throws invalid_idempotency_key, idempotency_mismatch for another request with the same key
 */
export async function changeOnce(
  db: ControlDatabase,
  seal: AnswerSeal,
  input: OnceInput,
  status: number,
  change: (tx: Tx) => Promise<unknown>,
): Promise<{ readonly answer: unknown; readonly is_repeated: boolean }> {
  const { key, route } = input;
  if (key === undefined) {
    return { answer: await db.transaction().execute(change), is_repeated: false };
  }
  if (!KEY.test(key)) {
    throw appError("invalid_idempotency_key", {
      detail:
        "The Idempotency-Key is empty, longer than 255 characters, or contains characters other than visible ASCII.",
      hint: "Send a new UUID for each change.",
    });
  }
  const principal = input.principal?.key?.id ?? input.principal?.user_id ?? "";
  const requestHash = digest(JSON.stringify(input.request ?? null));
  return await db.transaction().execute(async (tx) => {
    // a concurrent request with the same key waits here for the first answer
    const lock = digest(JSON.stringify([principal, route, key])).readBigInt64BE(0);
    await sql`select pg_advisory_xact_lock(${lock.toString()}::bigint)`.execute(tx);
    const stored = await findAnswer(tx, principal, route, key);
    if (stored !== undefined) {
      if (!stored.request_hash.equals(requestHash)) throw mismatch();
      return { answer: JSON.parse(openKept(seal, stored.answer)), is_repeated: true };
    }
    const answer = await change(tx);
    await tx
      .insertInto("control.idempotency")
      .values({
        principal,
        route,
        key,
        request_hash: requestHash,
        status,
        answer: seal.seal(JSON.stringify(answer ?? null)),
      })
      .execute();
    return { answer, is_repeated: false };
  });
}

/** Removes stored answers after a day. */
export async function cleanIdempotency(db: ControlDatabase): Promise<void> {
  await sql`delete from control.idempotency where created_at < now() - make_interval(secs => ${KEEP_S})`.execute(db);
}

async function findAnswer(tx: Tx, principal: string, route: string, key: string) {
  const row = { principal, route, key };
  const found = await tx
    .selectFrom("control.idempotency")
    .select([
      "request_hash",
      "answer",
      sql<boolean>`created_at > now() - make_interval(secs => ${KEEP_S})`.as("is_kept"),
    ])
    .where((eb) => eb.and(row))
    .executeTakeFirst();
  if (found === undefined || found.is_kept) return found;
  await tx
    .deleteFrom("control.idempotency")
    .where((eb) => eb.and(row))
    .execute();
  return undefined;
}

/** The secret differs from the stored answer's: it was changed, or servers have different ones. */
function openKept(seal: AnswerSeal, answer: Buffer): string {
  try {
    return seal.open(answer);
  } catch (cause) {
    throw appError("idempotency_mismatch", {
      detail:
        "The change with this Idempotency-Key was made. Its stored response cannot be read, because SERVICE_AUTH_SECRET has changed.",
      hint: "Check the current state. Send a new key for another change.",
      cause,
    });
  }
}

function mismatch(): Error {
  return appError("idempotency_mismatch", {
    detail: "This Idempotency-Key was already used with another body.",
    hint: "Send a new key for another change.",
  });
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Derives a key from the server's secret for this purpose only. */
export function createAnswerSeal(secret: Secret): AnswerSeal {
  const key = Buffer.from(hkdfSync("sha256", secret.reveal(), "", "appdb kept answers", KEY_BYTES));
  return {
    seal: (text) => sealBytes(key, "", Buffer.from(text)),
    open: (sealed) => openBytes(key, "", sealed).toString("utf8"),
  };
}
