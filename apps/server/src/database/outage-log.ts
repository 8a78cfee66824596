import type { Logger } from "@appdb/engine/ports";
import { errorFields, isDatabaseLost } from "./pool.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Logs the failures of one part of the server: one line for each outage of PostgreSQL, and all others. */
export interface OutageLog {
  failed(error: unknown, message: string, fields?: Fields): void;
  /** The part works: the next outage is logged again. */
  worked(): void;
}

export function createOutageLog(log: Logger): OutageLog {
  let isAway = false;
  return {
    failed(error, message, fields = {}) {
      const isLost = isDatabaseLost(error);
      const logged = { ...errorFields(error), ...fields };
      if (isLost && isAway) log.debug(logged, message);
      else log.warn(logged, message);
      isAway = isLost;
    },
    worked() {
      isAway = false;
    },
  };
}
