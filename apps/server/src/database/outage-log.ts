import { logOutages } from "@appdb/engine/outages";
import type { Logger } from "@appdb/engine/ports";
import { errorFields } from "./pool.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Logs the failures of one part of the server: each reason of an outage of PostgreSQL once, and all others. */
export interface OutageLog {
  failed(error: unknown, message: string, fields?: Fields): void;
  /** The part works: the next outage is logged again. */
  worked(): void;
}

export function createOutageLog(log: Logger): OutageLog {
  const outages = logOutages(log);
  return {
    failed(error, message, fields = {}) {
      const known = errorFields(error);
      outages.failed("reason" in known ? known.reason : undefined, { ...known, ...fields }, message);
    },
    worked: outages.worked,
  };
}
