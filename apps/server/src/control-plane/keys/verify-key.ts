import { timingSafeEqual } from "node:crypto";
import { readKeyText } from "@appdb/contract/control/key-text";
import { hashKey } from "@appdb/system/keys/key-hash";
import { sql } from "kysely";
import { type ControlDatabase, prepareByValue } from "../../database/pool.ts";
import type { KeyUses } from "../../edge/key-uses.ts";
import { type KeyPrincipal, suspensionOf, type VerifyKey } from "../../identity/principal.ts";

export interface VerifyKeyDeps {
  readonly db: ControlDatabase;
  readonly uses: KeyUses;
}

/**
 * Creates the key check of the control plane's own routes: one indexed read without a cache. A deleted key and a
 * changed role take effect at once. The database's clock decides what has expired.
 */
export function createVerifyKey({ db, uses }: VerifyKeyDeps): VerifyKey {
  const findKey = findKeyIn(db);
  return async (text) => {
    const read = readKeyText(text);
    if (read === undefined) return undefined;
    const row = await findKey(read.id);
    const received = Buffer.from(hashKey(text), "hex");
    if (row === undefined) return undefined;
    const isFormer = row.previous_hash !== null && row.is_overlapping === true && isSame(received, row.previous_hash);
    if (!isSame(received, row.hash) && !isFormer) return undefined;
    uses.note(row.id);
    return toPrincipal(row);
  };
}

type FoundKey = NonNullable<Awaited<ReturnType<ReturnType<typeof findKeyIn>>>>;

function toPrincipal(row: FoundKey): KeyPrincipal {
  const acts = row.acts_as !== null;
  return {
    kind: acts ? "key" : "grant_key",
    user_id: row.acts_as,
    email: acts ? row.email : null,
    name: acts ? row.user_name : null,
    key: { id: row.id, name: row.name, grants: row.grants },
    organization: { id: row.org_id, name: row.org_name, role: row.role, suspension: row.suspension },
    expires_at: row.expires_at,
  };
}

function findKeyIn(db: ControlDatabase) {
  return prepareByValue(db, (db, id) =>
    db
      .selectFrom("control.api_keys as k")
      .innerJoin("control.organizations as o", "o.id", "k.org_id")
      .leftJoin("control.members as m", (join) =>
        join.onRef("m.org_id", "=", "k.org_id").onRef("m.user_id", "=", "k.acts_as"),
      )
      .leftJoin("identity.users as u", "u.id", "k.acts_as")
      .select([
        "k.id",
        "k.name",
        "k.hash",
        "k.previous_hash",
        sql<boolean | null>`k.previous_until > now()`.as("is_overlapping"),
        "k.grants",
        "k.acts_as",
        "k.expires_at",
        "o.id as org_id",
        "o.name as org_name",
        suspensionOf("o").as("suspension"),
        "m.role",
        "u.email",
        "u.name as user_name",
      ])
      .where("k.id", "=", id)
      .where((eb) => eb.or([eb("k.expires_at", "is", null), eb("k.expires_at", ">", sql<Date>`now()`)])),
  );
}

function isSame(received: Buffer, stored: Buffer): boolean {
  return received.length === stored.length && timingSafeEqual(received, stored);
}
