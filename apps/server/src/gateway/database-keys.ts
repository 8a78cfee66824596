import type { KeyObject } from "node:crypto";
import { createKeyVerifier, type KeyVerifier, type Verified } from "@appdb/adapters/keys/key-verifier";
import type { Logger } from "@appdb/engine/ports";
import type { KeySnapshots } from "../control-plane/keys/key-snapshots.ts";
import type { RoutedDatabase } from "./routing-table.ts";

/** A database that nobody asks for is not followed for longer. */
const IDLE_MS = 600_000;
const LOOK_MS = 60_000;
const RETRY_MS = 1_000;

export interface DatabaseKeysDeps {
  readonly snapshots: Pick<KeySnapshots, "publicKey" | "follow">;
  readonly log: Logger;
}

/** Checks keys of the databases that are asked for, in memory. */
export interface DatabaseKeys extends Disposable {
  /** At once for a database whose keys are known; a promise when they have to be got first. */
  verify(database: RoutedDatabase, key: string): Verified | Promise<Verified>;
}

/** Follows the keys of each database from its first request on, and stops when nobody asks for it any more. */
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
      // keys are of names: of one that was renamed they are others
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

function follow({ snapshots, log }: DatabaseKeysDeps, database: RoutedDatabase): Followed {
  const { organization, name, org_id } = database;
  let verifier: KeyVerifier | undefined;
  let stopFollowing: (() => void) | undefined;
  let is_stopped = false;
  let opening: Promise<void> | undefined;
  let next_try = 0;
  const open = async () => {
    const made = verifierOf(await snapshots.publicKey(), organization, name);
    const stop = await snapshots.follow(
      { org_id, organization, database: name },
      (text) => void made.apply(text, "live"),
    );
    verifier = made;
    if (is_stopped) stop();
    else stopFollowing = stop;
  };
  const openOnce = () => {
    opening ??= open().catch((error: unknown) => {
      log.warn({ err: error, db: database.id }, "keys of a database cannot be had");
      next_try = performance.now() + RETRY_MS;
      opening = undefined;
    });
    return opening;
  };
  return {
    organization,
    name,
    used_at: 0,
    verify(key) {
      if (verifier !== undefined) return verifier.verify(key);
      if (performance.now() < next_try) return { outcome: "stale" };
      return openOnce().then(() => verifier?.verify(key) ?? { outcome: "stale" });
    },
    stop() {
      is_stopped = true;
      stopFollowing?.();
    },
  };
}

function verifierOf(public_key: KeyObject, organization: string, database: string): KeyVerifier {
  const clock = { now: Date.now, monotonic: () => performance.now() };
  return createKeyVerifier({ public_key, organization, database, clock });
}
