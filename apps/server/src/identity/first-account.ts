import { appError } from "@appdb/contract/errors";
import { type RawBuilder, sql } from "kysely";
import type { ControlDatabase } from "../database/pool.ts";
import { hasNoUser } from "./sign-up.ts";
import { hashToken, makeToken } from "./tokens/tokens.ts";

/** Any number: who holds it makes the first account. */
const LOCK = 7_341_905_624;

/**
 * Makes the one-time token of the link that makes the first account, in place of an earlier one. Undefined once there is
 * an account.
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
 * Runs `make` for whoever has the token, one at a time; the token is used up when it has succeeded.
 * @throws set_up_done when there is an account, unauthorized for a wrong token
 */
export async function useFirstAccount<T>(db: ControlDatabase, token: string, make: () => Promise<T>): Promise<T> {
  // before the wait, too: who has no token may not queue up, each with a connection, where the first account needs one
  if (await hasNoUser(db)) await checkToken(db, token);
  return await db.connection().execute(async (connection) => {
    const run = (text: RawBuilder<unknown>) => text.execute(connection);
    await run(sql`select pg_advisory_lock(${LOCK}::bigint)`);
    try {
      if (!(await hasNoUser(connection))) {
        throw appError("set_up_done", {
          detail: "The first account of this server exists.",
          hint: "Sign in, or ask for an invitation.",
        });
      }
      await checkToken(connection, token);
      const made = await make();
      await connection.deleteFrom("identity.first_account").execute();
      return made;
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
