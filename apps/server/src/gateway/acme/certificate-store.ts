import { Secret } from "@appdb/system/secret";
import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { Envelope } from "../../secrets/envelope.ts";
import type { MasterKey } from "../../secrets/master-key.ts";
import type { Challenge, KeyedCertificate } from "./acme-orders.ts";

/** A host and its database. */
export interface CertifiedHost {
  readonly database_id: string;
  readonly org_id: string;
  readonly host: string;
}

export interface HostChallenge extends Challenge {
  readonly host: string;
}

/** The stored certificate of a host. Its key stays encrypted until it is used. */
export interface StoredCertificate extends CertifiedHost {
  readonly chain: string | null;
  readonly data_key_id: string | null;
  readonly sealed_key: Buffer | null;
  readonly challenge: HostChallenge | null;
  /** Whether it comes from the current authority. */
  readonly is_current: boolean;
  /** Whether an order is allowed now, by PostgreSQL's clock. */
  readonly may_order: boolean;
  readonly version: number;
}

export interface CertificateStoreDeps {
  readonly db: ControlDatabase;
  readonly envelope: Envelope;
  readonly master_key: MasterKey;
}

/** Cannot collide with a secret: those have names of environment variables. */
const NAME = "key of the certificate";
const ACCOUNT_BOUND = "account of ACME";
/** Advisory lock: one process orders at a time. The numbers are arbitrary but unused elsewhere. */
const LOCK = [7_341_908, 1] as const;

/** Stores hosts' certificates of one authority. Private keys are encrypted with the database's data key. */
export class CertificateStore {
  readonly #deps: CertificateStoreDeps;
  readonly #directory: string;

  constructor(deps: CertificateStoreDeps, directory: string) {
    this.#deps = deps;
    this.#directory = directory;
  }

  /** Reads the certificates of all databases, or of one. */
  async read(databaseId?: string): Promise<StoredCertificate[]> {
    const { rows } = await sql<StoredCertificate>`
      select c.database_id, d.org_id, c.host, c.chain, c.data_key_id, c.sealed_key, c.challenge, c.version,
        c.next_order_at <= now() or c.asked_directory <> ${this.#directory} as may_order, c.directory = ${this.#directory} as is_current
      from control.gateway_certificates c join control.databases d on d.id = c.database_id
      where ${databaseId === undefined ? sql`true` : sql`d.id = ${databaseId}`}`.execute(this.#deps.db);
    return rows;
  }

  /** @throws master_key_wrong */
  async openKey({
    data_key_id: dataKeyId,
    database_id: databaseId,
    org_id: orgId,
    sealed_key: sealedKey,
  }: StoredCertificate): Promise<Secret | undefined> {
    if (dataKeyId === null || sealedKey === null) return undefined;
    const { db, envelope } = this.#deps;
    return await envelope.open(db, { org_id: orgId, database_id: databaseId }, NAME, {
      data_key_id: dataKeyId,
      sealed: sealedKey,
    });
  }

  /** Publishes a challenge to all gateways. */
  async showChallenge({ database_id: databaseId, host }: CertifiedHost, challenge: Challenge): Promise<void> {
    const shown: HostChallenge = { ...challenge, host };
    await sql`insert into control.gateway_certificates as c (database_id, host, directory, asked_directory, challenge)
      values (${databaseId}, ${host}, ${this.#directory}, ${this.#directory}, ${JSON.stringify(shown)})
      on conflict (database_id) do update set challenge = excluded.challenge, version = c.version + 1`.execute(
      this.#deps.db,
    );
  }

  /** Stores a certificate. Allows no order before `wait_s`, whatever a clock shows: authorities limit orders. */
  async store(
    { database_id: databaseId, host, org_id: orgId }: CertifiedHost,
    certificate: KeyedCertificate,
    waitS: number,
  ): Promise<void> {
    const { db, envelope } = this.#deps;
    await db.transaction().execute(async (tx) => {
      const { data_key_id: dataKeyId, sealed } = await envelope.seal(
        tx,
        { org_id: orgId, database_id: databaseId },
        NAME,
        certificate.key,
      );
      await sql`insert into control.gateway_certificates as c
          (database_id, host, directory, asked_directory, chain, data_key_id, sealed_key, next_order_at)
        values (${databaseId}, ${host}, ${this.#directory}, ${this.#directory}, ${certificate.chain}, ${dataKeyId}, ${sealed},
          now() + ${waitS} * interval '1 s')
        on conflict (database_id) do update set host = excluded.host, directory = excluded.directory, chain = excluded.chain,
          data_key_id = excluded.data_key_id, sealed_key = excluded.sealed_key, next_order_at = excluded.next_order_at,
          asked_directory = excluded.asked_directory,
          challenge = null, failures = 0, failure = null, version = c.version + 1`.execute(tx);
    });
  }

  /**
   * Records a failed order, and an event for the first failure after a success, in one transaction. The next order is
   * allowed after `first_s`, doubled with each failure up to `max_s`. Returns the wait in s.
   */
  async fail(
    { database_id: databaseId, host }: CertifiedHost,
    failure: string,
    { first_s: firstS, max_s: mostS }: { readonly first_s: number; readonly max_s: number },
    tellFirst: (tx: Tx) => Promise<void>,
  ): Promise<number> {
    return await this.#deps.db.transaction().execute(async (tx) => {
      const { rows } = await sql<{ wait_s: number; failures: number }>`
      insert into control.gateway_certificates as c (database_id, host, directory, asked_directory, failures, failure, next_order_at)
      values (${databaseId}, ${host}, ${this.#directory}, ${this.#directory}, 1, ${failure}, now() + ${firstS} * interval '1 s')
      on conflict (database_id) do update set failures = least(c.failures + 1, 1000), failure = excluded.failure, challenge = null,
        asked_directory = excluded.asked_directory, version = c.version + 1, next_order_at = now() + least(${firstS} * 2 ^ least(c.failures, 30), ${mostS}) * interval '1 s'
      returning extract(epoch from next_order_at - now())::float as wait_s, failures`.execute(tx);
      if (rows[0]?.failures === 1) await tellFirst(tx);
      return rows[0]?.wait_s ?? firstS;
    });
  }

  /** Opens the key of the account at the authority, or creates one. */
  async findAccountKey(make: () => Promise<string>): Promise<string> {
    const { db, master_key: masterKey } = this.#deps;
    return await db.transaction().execute(async (tx) => {
      const stored = await this.#readAccount(tx);
      if (stored !== undefined) return stored;
      const key = await make();
      const wrapped = masterKey.wrap(Buffer.from(key), `${ACCOUNT_BOUND} ${this.#directory}`);
      await sql`insert into control.acme_accounts (directory, master_key_id, wrapped)
        values (${this.#directory}, ${masterKey.id}, ${wrapped})
        on conflict (directory) do update set master_key_id = excluded.master_key_id, wrapped = excluded.wrapped`.execute(
        tx,
      );
      return key;
    });
  }

  async #readAccount(tx: Tx): Promise<string | undefined> {
    const { master_key: masterKey } = this.#deps;
    const { rows } = await sql<{ master_key_id: string; wrapped: Buffer }>`
      select master_key_id, wrapped from control.acme_accounts where directory = ${this.#directory}
        and master_key_id = ${masterKey.id}`.execute(tx);
    const row = rows[0];
    return row && new Secret(masterKey.unwrap(row, `${ACCOUNT_BOUND} ${this.#directory}`).toString()).reveal();
  }

  /** Runs the work unless another process does. Returns whether it ran. Always releases the lock. */
  async withExclusiveLock(work: () => Promise<void>): Promise<boolean> {
    return await this.#deps.db.connection().execute(async (connection) => {
      const [group, one] = LOCK;
      const { rows } = await sql<{ got: boolean }>`select pg_try_advisory_lock(${group}, ${one}) as got`.execute(
        connection,
      );
      if (rows[0]?.got !== true) return false;
      try {
        await work();
        return true;
      } finally {
        await sql`select pg_advisory_unlock(${group}, ${one})`.execute(connection);
      }
    });
  }
}
