import { appError } from "@appdb/contract/errors";
import type { Key } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";

/** A key without its hashes. */
export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly grants: string[];
  readonly created_by: string | null;
  readonly acts_as: string | null;
  readonly email: string | null;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
  readonly expires_at: Date | null;
  readonly previous_until: Date | null;
}

/** The keys of an organization, by name. */
export async function listKeys(
  db: ControlDatabase,
  orgId: string,
  page: PageQuery,
): Promise<{ items: Key[]; next: string | null }> {
  const from = readPageCursor(page.cursor);
  let query = selectKeys(db)
    .where("k.org_id", "=", orgId)
    .orderBy("k.name")
    .limit(page.limit + 1);
  if (from !== undefined) query = query.where("k.name", ">", from.after);
  return toPage(await query.execute(), page.limit, toKey, (row) => ({ after: row.name, id: row.id }));
}

export async function readKey(tx: Tx, id: string): Promise<KeyRow> {
  return await selectKeys(tx).where("k.id", "=", id).executeTakeFirstOrThrow();
}

/** Finds a key by name and locks it until the transaction ends. @throws key_not_found */
export async function lockKey(tx: Tx, org: { readonly id: string; readonly name: string }, name: string) {
  const found = await tx
    .selectFrom("control.api_keys")
    .select(["id", "name", "hash", "grants", "created_by", "acts_as"])
    .where("org_id", "=", org.id)
    .where("name", "=", name)
    .forUpdate()
    .executeTakeFirst();
  if (found !== undefined) return found;
  throw appError("key_not_found", {
    detail: `${org.name} has no API key ${JSON.stringify(name.slice(0, 63))}.`,
    hint: `List its keys: cli key list --org ${org.name}   or name another organization: --org NAME`,
    meta: { name: name.slice(0, 63) },
  });
}

export function toKey(row: KeyRow): Key {
  return {
    id: row.id,
    name: row.name,
    grants: [...row.grants],
    created_by: row.email,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    expires_at: row.expires_at?.toISOString() ?? null,
    previous_until: row.previous_until?.toISOString() ?? null,
  };
}

function selectKeys(db: ControlDatabase | Tx) {
  return db
    .selectFrom("control.api_keys as k")
    .leftJoin("identity.users as u", "u.id", "k.created_by")
    .select([
      "k.id",
      "k.name",
      "k.grants",
      "k.created_by",
      "k.acts_as",
      "u.email",
      "k.created_at",
      "k.last_used_at",
      "k.expires_at",
      // hides the end of an overlap that is over
      sql<Date | null>`case when k.previous_until > now() then k.previous_until end`.as("previous_until"),
    ]);
}
