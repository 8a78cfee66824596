import { appError } from "@appdb/contract/errors";
import { type RawBuilder, sql } from "kysely";
import type { ControlDatabase } from "../database/pool.ts";
import { hasNoUser } from "./sign-up.ts";
import { hashToken, makeToken } from "./tokens/tokens.ts";

/** Advisory lock for creating the first account. Any number. */
const LOCK = 7_341_905_624;

/**
 * Creates the one-time token of the first account's link, replacing an earlier one. Undefined if there is an account.
 */
export async function openFirstAccount(db: ControlDatabase): Promise<string | undefined> {
  if (!(await hasNoUser(db))) return undefined;
  const token = makeToken();
  const tokenHash = hashToken(token);
  await db
    .insertInto("identity.first_account")
    .values({ token_hash: tokenHash })
    .onConflict((conflict) => conflict.column("is_only").doUpdateSet({ token_hash: tokenHash, created_at: sql`now()` }))
    .execute();
  return token;
}

/**
 * Runs `make` for a caller with the token, one at a time. Success uses up the token.
 * @throws set_up_done if there is an account, unauthorized for a wrong token
 */
export async function useFirstAccount<T>(db: ControlDatabase, token: string, make: () => Promise<T>): Promise<T> {
  // also checked before the lock: callers without a token must not queue up and use all connections
  if (await hasNoUser(db)) await checkToken(db, token);
  return await db.connection().execute(async (connection) => {
    const run = (text: RawBuilder<unknown>) => text.execute(connection);
    await run(sql`select pg_advisory_lock(${LOCK}::bigint)`);
    try {
      if (!(await hasNoUser(connection))) {
        throw appError("set_up_done", {
          detail: "The first account of this server already exists.",
          hint: "Sign in, or ask for an invitation.",
        });
      }
      await checkToken(connection, token);
      const created = await make();
      await connection.deleteFrom("identity.first_account").execute();
      return created;
    } finally {
      await run(sql`select pg_advisory_unlock(${LOCK}::bigint)`);
    }
  });
}

async function checkToken(db: ControlDatabase, token: string): Promise<void> {
  const found = await db
    .selectFrom("identity.first_account")
    .select("is_only")
    .where("token_hash", "=", hashToken(token))
    .executeTakeFirst();
  if (found === undefined) throw wrongToken();
}

function wrongToken(): Error {
  return appError("unauthorized", {
    detail: "The token of the link is wrong, or the server has printed a newer one.",
    hint: "Open the link that the server printed at its last start.",
  });
}
