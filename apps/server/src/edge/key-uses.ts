import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import { type ControlDatabase, fromDatabaseError } from "../database/pool.ts";

const FLUSH_MS = 60_000;

/** Remembers which keys were used, and writes it down once a minute: a use costs no write. Disposing writes the rest. */
export interface KeyUses extends AsyncDisposable {
  note(keyId: string): void;
  /** Writes down what was noted since the last time. */
  flush(): Promise<void>;
}

export function createKeyUses(db: ControlDatabase, log: Logger): KeyUses {
  let used = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const flush = async () => {
    if (used.size === 0) return;
    const ids = [...used];
    used = new Set();
    // the database's clock: it is one, and a use that is written down late is late by a minute at most
    try {
      await sql`update control.api_keys set last_used_at = now() where id = any(${ids}::text[])`.execute(db);
    } catch (error) {
      for (const id of ids) used.add(id);
      throw error;
    }
  };
  const logFailure = (error: unknown) =>
    log.warn({ err: fromDatabaseError(error) }, "the last uses of keys were not written down");
  const flushLogged = () => {
    timer = undefined;
    flush().catch((error: unknown) => {
      logFailure(error);
      timer ??= setTimeout(flushLogged, FLUSH_MS).unref();
    });
  };
  return {
    note(id) {
      used.add(id);
      timer ??= setTimeout(flushLogged, FLUSH_MS).unref();
    },
    flush,
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await flush().catch(logFailure);
    },
  };
}
