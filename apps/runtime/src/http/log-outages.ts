import type { Logger } from "@appdb/engine/ports";

/** After this time without a failed request, the next failure begins another outage. */
const QUIET_MS = 10_000;

/**
 * A log that has each outage of PostgreSQL once and not for each request, of which there may be hundreds in a second.
 * Another reason, as a start after an end, is another line.
 */
export function logOutagesOnce(log: Logger, now: () => number = () => performance.now()): Logger {
  let failedAt = Number.NEGATIVE_INFINITY;
  let known = new Set<string>();
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn(fields, message) {
      if (!("code" in fields) || fields.code !== "database_unavailable") return log.warn(fields, message);
      const isNew = now() - failedAt > QUIET_MS;
      failedAt = now();
      if (isNew) known = new Set();
      const reason = "detail" in fields ? String(fields.detail) : "";
      if (known.has(reason)) return;
      known.add(reason);
      log.warn(fields, message);
    },
    error: (fields, message) => log.error(fields, message),
  };
}
