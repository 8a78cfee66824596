import { createPublicKey, type KeyObject } from "node:crypto";
import type { Logger } from "@appdb/engine/ports";
import { createKeyVerifier, type KeyVerifier, type Verified } from "@appdb/system/keys/key-verifier";
import { withinTime } from "@appdb/system/processes/within-time";
import type { KeySnapshots } from "../../edge/key-snapshots.ts";
import type { KeptState } from "./kept-state.ts";
import type { RoutedDatabase } from "./routing-table.ts";

/** The keys of an unused database are dropped after this time. */
const IDLE_MS = 600_000;
const LOOK_MS = 60_000;
const RETRY_MS = 1_000;
/** How long a database's first requests wait for its keys. */
const OPEN_MS = 2_000;

export interface DatabaseKeysDeps {
  readonly snapshots: Pick<KeySnapshots, "publicKey" | "follow">;
  readonly log: Logger;
  /** Saved keys for a start without PostgreSQL. */
  readonly stored?: Pick<KeptState, "findKeys" | "keepKeys"> | undefined;
}

/** Checks keys of the requested databases in memory. */
export interface DatabaseKeys extends Disposable {
  /** Returns the result if the database's keys are in memory, otherwise a promise. */
  verify(database: RoutedDatabase, key: string): Verified | Promise<Verified>;
}

/** Loads and follows a database's keys from its first request until it is unused. */
export function createDatabaseKeys(deps: DatabaseKeysDeps): DatabaseKeys {
  const followed = new Map<string, Followed>();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const [id, one] of followed) {
      if (now - one.used_at < IDLE_MS) continue;
      followed.delete(id);
      one.stop();
    }
  }, LOOK_MS).unref();
  return {
    verify(database, key) {
      const { id, organization, name } = database;
      let one = followed.get(id);
      // keys belong to names: after a rename, load them again
      if (one === undefined || one.organization !== organization || one.name !== name) {
        one?.stop();
        one = follow(deps, database);
        followed.set(id, one);
      }
      one.used_at = performance.now();
      return one.verify(key);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const one of followed.values()) one.stop();
      followed.clear();
    },
  };
}

interface Followed {
  readonly organization: string;
  readonly name: string;
  used_at: number;
  verify(key: string): Verified | Promise<Verified>;
  stop(): void;
}

function follow({ snapshots, log, stored }: DatabaseKeysDeps, database: RoutedDatabase): Followed {
  const { id, organization, name, org_id: orgId } = database;
  let verifier: KeyVerifier | undefined;
  let isLive = false;
  let stopFollowing: (() => void) | undefined;
  let isStopped = false;
  let opening: Promise<void> | undefined;
  let nextTry = 0;
  const open = async () => {
    const publicKey = await snapshots.publicKey();
    const keyVerifier = verifierOf(publicKey, organization, name);
    const shown = publicKey.export({ type: "spki", format: "der" }).toString("base64");
    const stop = await snapshots.follow({ org_id: orgId, organization, database: name }, (snapshot) => {
      if (keyVerifier.apply(snapshot, "live") === "applied") stored?.keepKeys(id, { public_key: shown, snapshot });
    });
    verifier = keyVerifier;
    isLive = true;
    if (isStopped) stop();
    else stopFollowing = stop;
  };
  const openOnce = () => {
    opening ??= open().catch((error: unknown) => {
      log.warn({ err: error, db: id }, "could not load the keys of a database");
      nextTry = performance.now() + RETRY_MS;
      opening = undefined;
    });
    return opening;
  };
  const openOrKept = async (key: string): Promise<Verified> => {
    await withinTime(openOnce(), OPEN_MS);
    const found = stored?.findKeys(id);
    if (verifier === undefined && found !== undefined) {
      const keyVerifier = verifierOf(
        createPublicKey({ key: Buffer.from(found.public_key, "base64"), type: "spki", format: "der" }),
        organization,
        name,
      );
      if (keyVerifier.apply(found.snapshot, "kept") === "applied") verifier = keyVerifier;
    }
    return verifier?.verify(key) ?? { outcome: "stale" };
  };
  return {
    organization,
    name,
    used_at: 0,
    verify(key) {
      const mayTry = !isLive && performance.now() >= nextTry;
      if (verifier === undefined) return mayTry ? openOrKept(key) : { outcome: "stale" };
      // saved keys, until the control plane answers again
      if (mayTry) void openOnce();
      return verifier.verify(key);
    },
    stop() {
      isStopped = true;
      stopFollowing?.();
    },
  };
}

function verifierOf(publicKey: KeyObject, organization: string, database: string): KeyVerifier {
  const clock = { now: Date.now, monotonic: () => performance.now() };
  return createKeyVerifier({ public_key: publicKey, organization, database, clock });
}
