import type { Logger } from "./ports.ts";

/** Failures of one part that needs PostgreSQL. */
export interface Outages {
  /** `reason`: why PostgreSQL is away, or undefined for any other failure. */
  failed(reason: string | undefined, fields: object, message: string): void;
  /** The part works: the next outage is logged again. */
  worked(): void;
}

interface OutageOptions {
  /** Time without a failure after which an outage has ended, for parts that do not know when they work. */
  readonly quiet_ms?: number;
  readonly now?: () => number;
}

/**
 * Logs each reason of an outage once and not for each attempt, of which there may be hundreds in a second. Another
 * reason, as a start after an end, is another line. Other failures are all logged.
 */
export function logOutages(
  log: Pick<Logger, "debug" | "warn">,
  { quiet_ms: quietMs = Number.POSITIVE_INFINITY, now = () => performance.now() }: OutageOptions = {},
): Outages {
  let failedAt = Number.NEGATIVE_INFINITY;
  const known = new Set<string>();
  return {
    failed(reason, fields, message) {
      if (reason === undefined || now() - failedAt > quietMs) known.clear();
      failedAt = now();
      if (reason !== undefined && known.has(reason)) {
        log.debug(fields, message);
        return;
      }
      if (reason !== undefined) known.add(reason);
      log.warn(fields, message);
    },
    worked: () => known.clear(),
  };
}
