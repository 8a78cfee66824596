import { logOutages } from "@appdb/engine/outages";
import type { Logger } from "@appdb/engine/ports";

/** After this time without a failed request, the next failure begins another outage. */
const QUIET_MS = 10_000;

/** A log that has each outage of PostgreSQL once and not for each request. */
export function logOutagesOnce(log: Logger, now?: () => number): Logger {
  const outages = logOutages(log, { quiet_ms: QUIET_MS, ...(now === undefined ? {} : { now }) });
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn(fields, message) {
      if (!("code" in fields) || fields.code !== "database_unavailable") return log.warn(fields, message);
      outages.failed("detail" in fields ? String(fields.detail) : "", fields, message);
    },
    error: (fields, message) => log.error(fields, message),
  };
}
