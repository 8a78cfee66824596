import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { parseGrant } from "@appdb/contract/control/grants";
import type { Role } from "@appdb/contract/permissions";
import type { Logger } from "@appdb/engine/ports";
import { type SnapshotKey, signSnapshot } from "@appdb/system/keys/key-snapshot";
import { sql } from "kysely";
import type { Notifications } from "../database/notifications.ts";
import { type ControlDatabase, errorFields } from "../database/pool.ts";
import { type MasterKey, SIGNING_KEY_BOUND } from "../secrets/master-key.ts";

/** Interval for reissuing an unchanged snapshot, so that connected readers always have a recent one. */
const REISSUE_MS = 600_000;

export interface SnapshotDatabase {
  readonly org_id: string;
  readonly organization: string;
  readonly database: string;
}

export interface KeySnapshotDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly notifications: Notifications;
  readonly master_key: MasterKey;
}

/** Provides gateway and pods with signed snapshots of their database's keys, for `createKeyVerifier`. */
export interface KeySnapshots {
  /** The public key that verifies snapshots. */
  publicKey(): Promise<KeyObject>;
  issue(of: SnapshotDatabase): Promise<string>;
  /** Pushes a snapshot now, after every change of keys, and every ten minutes. Resolves after the first. */
  follow(of: SnapshotDatabase, push: (snapshot: string) => void): Promise<() => void>;
}

export function createKeySnapshots(deps: KeySnapshotDeps): KeySnapshots {
  let pair: Promise<SigningPair> | undefined;
  const open = () => {
    pair ??= openPair(deps.db, deps.master_key).catch((error: unknown) => {
      pair = undefined;
      throw error;
    });
    return pair;
  };
  const issue = async (of: SnapshotDatabase) => {
    const { private_key: privateKey } = await open();
    const { organization, database } = of;
    return signSnapshot({ organization, database, ...(await readKeys(deps.db, of)) }, privateKey);
  };
  return {
    publicKey: async () => (await open()).public_key,
    issue,
    async follow(of, push) {
      let isStopped = false;
      const send = async () => {
        const snapshot = await issue(of);
        if (!isStopped) push(snapshot);
      };
      const sendLogged = () => {
        // the next snapshot includes the change, at the latest after the reconnect
        send().catch((error) =>
          deps.log.warn({ ...errorFields(error), db: of.database }, "could not issue a snapshot of keys"),
        );
      };
      const stop = await deps.notifications.listen("control_keys", (orgId) => {
        if (orgId === undefined || orgId === of.org_id) sendLogged();
      });
      const timer = setInterval(sendLogged, REISSUE_MS).unref();
      await send();
      return () => {
        isStopped = true;
        clearInterval(timer);
        stop();
      };
    },
  };
}

interface SigningPair {
  readonly public_key: KeyObject;
  readonly private_key: KeyObject;
}

async function openPair(db: ControlDatabase, master: MasterKey): Promise<SigningPair> {
  const row = await db.selectFrom("control.signing_key").selectAll().executeTakeFirstOrThrow();
  return {
    public_key: createPublicKey({ key: row.public_key, type: "spki", format: "der" }),
    private_key: createPrivateKey({ key: master.unwrap(row, SIGNING_KEY_BOUND), type: "pkcs8", format: "der" }),
  };
}

interface KeyRow {
  readonly id: string;
  readonly name: string;
  /** Hexadecimal. */
  readonly hash: string;
  readonly previous_hash: string | null;
  readonly previous_ms: number | null;
  readonly grants: string[];
  readonly role: Role | null;
  readonly expires_ms: number | null;
}

/** Reads version and keys in one statement, so that they are consistent. */
async function readKeys(db: ControlDatabase, of: SnapshotDatabase) {
  const { rows } = await sql<{ version: string; issued_ms: number; keys: KeyRow[] | null }>`
    select coalesce((select version from control.key_versions where org_id = ${of.org_id}), 0) as version,
      floor(extract(epoch from now()) * 1000)::float8 as issued_ms,
      (select json_agg(json_build_object(
          'id', k.id, 'name', k.name, 'grants', k.grants, 'role', m.role,
          'hash', encode(k.hash, 'hex'), 'previous_hash', encode(k.previous_hash, 'hex'),
          'previous_ms', floor(extract(epoch from k.previous_until) * 1000),
          'expires_ms', floor(extract(epoch from k.expires_at) * 1000)) order by k.id)
        from control.api_keys k left join control.members m on m.org_id = k.org_id and m.user_id = k.acts_as
        where k.org_id = ${of.org_id}) as keys`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new Error("A statement without a row.");
  const keys = (row.keys ?? []).filter((key) => concerns(key, of)).map(toSnapshotKey);
  return { version: Number(row.version), issued_ms: row.issued_ms, keys };
}

/** A key without grants reaches all databases of its organization, other keys only those of their grants. */
function concerns(key: KeyRow, of: SnapshotDatabase): boolean {
  return key.grants.length === 0 || key.grants.map(parseGrant).some((grant) => grant.database === of.database);
}

function toSnapshotKey(key: KeyRow): SnapshotKey {
  const previous =
    key.previous_hash === null || key.previous_ms === null
      ? []
      : [{ hash: key.previous_hash, until_ms: key.previous_ms }];
  return {
    id: key.id,
    name: key.name,
    hashes: [{ hash: key.hash, until_ms: null }, ...previous],
    grants: key.grants,
    role: key.role,
    expires_ms: key.expires_ms,
  };
}
