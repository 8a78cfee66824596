import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { Secret } from "@appdb/system/secret";
import { sql } from "kysely";
import { BY_OPERATOR, type RecordEvent } from "../audit/event.ts";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import { KEY_BYTES, openBytes, sealBytes } from "./sealed-bytes.ts";

/** Advisory lock for creating the first keys and for rewrapping. Any number. */
const LOCK = 7_341_905_623;
const ID_CHARACTERS = 16;

/** Wraps the stored keys. It exists in memory only and is never printed. */
export interface MasterKey {
  /** Identifies the key without revealing it. */
  readonly id: string;
  /** Creates a key and wraps it. */
  makeKey(boundTo: string): { readonly key: Buffer; readonly wrapped: Buffer };
  /** @throws master_key_wrong */
  unwrap(stored: { readonly master_key_id: string; readonly wrapped: Buffer }, boundTo: string): Buffer;
  wrap(plain: Buffer, boundTo: string): Buffer;
}

export interface OpenMasterKeyDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly recordEvent: RecordEvent;
}

export interface MasterKeySettings {
  /** Base64 of 32 bytes, from the settings or the home, or undefined. */
  readonly current: Secret | undefined;
  /** The previous key, while stored keys are rewrapped. */
  readonly previous: Secret | undefined;
  /** Creates and stores a key. Called only while nothing is wrapped. */
  make(): Secret;
  /** Where a person finds it. */
  readonly place: string;
}

/**
 * Opens the master key and checks that it unwraps the stored keys, before anything changes. With a previous key,
 * rewraps every stored key in one transaction; the secrets stay.
 * @throws master_key_wrong
 */
export async function openMasterKey(deps: OpenMasterKeyDeps, settings: MasterKeySettings): Promise<MasterKey> {
  return await deps.db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
    const stored = await readStored(tx);
    if (stored.length === 0) {
      const master = toMasterKey(settings.current ?? settings.make());
      await makeSigningKey(tx, master);
      return master;
    }
    const master = settings.current === undefined ? undefined : toMasterKey(settings.current);
    const previous = settings.previous === undefined ? undefined : toMasterKey(settings.previous);
    const needed = new Set(stored.map((row) => row.master_key_id));
    const unknown = [...needed].filter((id) => id !== master?.id && id !== previous?.id);
    if (master === undefined || unknown.length > 0)
      throw wrongMasterKey(unknown[0] ?? [...needed][0] ?? "", master, settings.place);
    const old = stored.filter((row) => row.master_key_id !== master.id);
    for (const row of stored.filter((one) => one.master_key_id === master.id)) master.unwrap(row, row.bound_to);
    for (const row of old) {
      if (previous === undefined) throw wrongMasterKey(row.master_key_id, master, settings.place);
      const wrapped = master.wrap(previous.unwrap(row, row.bound_to), row.bound_to);
      await store(tx, row, { wrapped, master_key_id: master.id });
    }
    if (previous !== undefined && old.length > 0) {
      deps.log.info({ keys: old.length, master_key: master.id }, "keys were wrapped under a new master key");
      await deps.recordEvent(tx, {
        action: "master_key.rotate",
        target: "server",
        ...BY_OPERATOR,
        detail: { master_key: master.id, before: previous.id, keys: old.length },
      });
    }
    return master;
  });
}

export function toMasterKey(secret: Secret): MasterKey {
  const master = Buffer.from(secret.reveal(), "base64");
  if (master.length !== KEY_BYTES) {
    throw appError("master_key_wrong", {
      detail: `The master key has ${master.length} bytes in base64; it needs ${KEY_BYTES}.`,
      hint: "Restore the correct key.",
    });
  }
  const id = createHash("sha256").update("appdb master key").update(master).digest("hex").slice(0, ID_CHARACTERS);
  const wrap = (plain: Buffer, boundTo: string) => sealBytes(master, boundTo, plain);
  return {
    id,
    wrap,
    makeKey(boundTo) {
      const key = randomBytes(KEY_BYTES);
      return { key, wrapped: wrap(key, boundTo) };
    },
    unwrap(stored, boundTo) {
      try {
        return openBytes(master, boundTo, stored.wrapped);
      } catch (cause) {
        throw wrongMasterKey(stored.master_key_id, { id }, "SERVICE_MASTER_KEY", cause);
      }
    },
  };
}

/** Binds a stored key to its owner, so that it cannot be unwrapped in another row. */
export function dataKeyBound(orgId: string, databaseId: string | null): string {
  return `data key ${orgId} ${databaseId ?? ""}`;
}
/** Binds the encrypted secret of a second factor to its person. */
export function secondFactorBound(userId: string): string {
  return `second factor ${userId}`;
}
export const SIGNING_KEY_BOUND = "signing key of snapshots";

interface StoredKey {
  readonly kind: "data" | "signing" | "second factor";
  /** The id of a data key, or of a second factor's person. Empty for the signing key. */
  readonly id: string;
  readonly master_key_id: string;
  readonly wrapped: Buffer;
  readonly bound_to: string;
}

async function readStored(tx: Tx): Promise<StoredKey[]> {
  const data = await tx
    .selectFrom("control.data_keys")
    .select(["id", "org_id", "database_id", "master_key_id", "wrapped"])
    .forUpdate()
    .execute();
  const signing = await tx.selectFrom("control.signing_key").select(["master_key_id", "wrapped"]).forUpdate().execute();
  const factors = await tx
    .selectFrom("identity.second_factors")
    .select(["user_id as id", "master_key_id", "wrapped"])
    .forUpdate()
    .execute();
  return [
    ...data.map((row) => ({ ...row, kind: "data" as const, bound_to: dataKeyBound(row.org_id, row.database_id) })),
    ...signing.map((row) => ({ ...row, kind: "signing" as const, id: "", bound_to: SIGNING_KEY_BOUND })),
    ...factors.map((row) => ({ ...row, kind: "second factor" as const, bound_to: secondFactorBound(row.id) })),
  ];
}

async function store(
  tx: Tx,
  { kind, id }: StoredKey,
  values: { wrapped: Buffer; master_key_id: string },
): Promise<void> {
  if (kind === "signing") await tx.updateTable("control.signing_key").set(values).execute();
  else if (kind === "data") await tx.updateTable("control.data_keys").set(values).where("id", "=", id).execute();
  else await tx.updateTable("identity.second_factors").set(values).where("user_id", "=", id).execute();
}

async function makeSigningKey(tx: Tx, master: MasterKey): Promise<void> {
  const pair = generateKeyPairSync("ed25519");
  await tx
    .insertInto("control.signing_key")
    .values({
      public_key: pair.publicKey.export({ type: "spki", format: "der" }),
      master_key_id: master.id,
      wrapped: master.wrap(pair.privateKey.export({ type: "pkcs8", format: "der" }), SIGNING_KEY_BOUND),
    })
    .execute();
}

function wrongMasterKey(
  needed: string,
  expected: { readonly id: string } | undefined,
  source: string,
  cause?: unknown,
): Error {
  return appError("master_key_wrong", {
    detail:
      expected === undefined
        ? `The secrets require the master key ${needed}, but no key is configured. Nothing was changed.`
        : `The secrets use the master key ${needed}, but the configured one is ${expected.id}. Nothing was changed.`,
    hint: `Restore that key (${source}, or SERVICE_MASTER_KEY). To use a new key, also set SERVICE_MASTER_KEY_PREVIOUS to the previous one.`,
    meta: { needed, given: expected?.id ?? null },
    cause,
  });
}
