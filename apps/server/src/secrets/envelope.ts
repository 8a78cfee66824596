import { Secret } from "@appdb/system/secret";
import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import { dataKeyBound, type MasterKey } from "./master-key.ts";
import { openBytes, sealBytes } from "./sealed-bytes.ts";

/** The owner of an encrypted value: a database, or with null its organization. */
export interface Owner {
  readonly org_id: string;
  readonly database_id: string | null;
}

export interface Sealed {
  readonly data_key_id: string;
  readonly sealed: Buffer;
}

/**
 * Encrypts values with their owner's data key, which is created at first use and stored wrapped by the master key.
 * `name` identifies the value: it cannot be decrypted under another name.
 */
export interface Envelope {
  seal(tx: Tx, owner: Owner, name: string, value: string): Promise<Sealed>;
  /** @throws master_key_wrong */
  open(db: ControlDatabase | Tx, owner: Owner, name: string, sealed: Sealed): Promise<Secret>;
}

export function createEnvelope(master: MasterKey): Envelope {
  return {
    async seal(tx, owner, name, value) {
      const { id, key } = (await findDataKey(tx, master, owner)) ?? (await makeDataKey(tx, master, owner));
      return { data_key_id: id, sealed: sealBytes(key, bound(owner, name), Buffer.from(value, "utf8")) };
    },
    async open(db, owner, name, sealed) {
      const found = await findDataKey(db, master, owner);
      if (found?.id !== sealed.data_key_id) throw new Error("The data key of an encrypted value is missing.");
      return new Secret(openBytes(found.key, bound(owner, name), sealed.sealed).toString("utf8"));
    },
  };
}

function bound({ org_id: orgId, database_id: databaseId }: Owner, name: string): string {
  return `${orgId} ${databaseId ?? ""} ${name}`;
}

async function findDataKey(db: ControlDatabase | Tx, master: MasterKey, owner: Owner) {
  const row = await db
    .selectFrom("control.data_keys")
    .select(["id", "master_key_id", "wrapped"])
    .where("org_id", "=", owner.org_id)
    .where("database_id", "is not distinct from", owner.database_id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  return { id: row.id, key: master.unwrap(row, dataKeyBound(owner.org_id, owner.database_id)) };
}

async function makeDataKey(tx: Tx, master: MasterKey, owner: Owner) {
  // two servers may encrypt an owner's first value at once: the second waits and uses the first one's key
  await sql`select pg_advisory_xact_lock(hashtextextended(${dataKeyBound(owner.org_id, owner.database_id)}, 0))`.execute(
    tx,
  );
  const other = await findDataKey(tx, master, owner);
  if (other !== undefined) return other;
  const { key, wrapped } = master.makeKey(dataKeyBound(owner.org_id, owner.database_id));
  const { id } = await tx
    .insertInto("control.data_keys")
    .values({ ...owner, master_key_id: master.id, wrapped })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { id, key };
}
