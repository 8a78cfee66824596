import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import { type ControlDatabase, errorFields } from "../database/pool.ts";

const FLUSH_MS = 60_000;

/** Collects uses of keys and writes them once a minute, so that a use costs no write. Disposal writes the rest. */
export interface KeyUses extends AsyncDisposable {
  note(keyId: string): void;
  /** Writes the collected uses. */
  flush(): Promise<void>;
}

export function createKeyUses(db: ControlDatabase, log: Logger): KeyUses {
  let used = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const flush = async () => {
    if (used.size === 0) return;
    const ids = [...used];
    used = new Set();
    // uses the database's clock; a recorded use is at most a minute late
    try {
      await sql`update control.api_keys set last_used_at = now() where id = any(${ids}::text[])`.execute(db);
    } catch (error) {
      for (const id of ids) used.add(id);
      throw error;
    }
  };
  const logFailure = (error: unknown) => log.warn(errorFields(error), "could not record the last uses of keys");
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
