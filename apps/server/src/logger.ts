import type { Logger } from "@appdb/engine/ports";
import { pino } from "pino";

const REDACTED = ["password", "token", "secret", "api_key", "cookie", "authorization", "dsn"];

/** JSON lines on standard output; values of credentials never reach them. */
export function createLogger(level: string): Logger {
  return pino({
    level,
    redact: { paths: REDACTED.flatMap((name) => [name, `*.${name}`]), censor: "***" },
    formatters: { level: (label) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    base: { pid: process.pid },
  });
}
