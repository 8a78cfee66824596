import type { Logger } from "@appdb/engine/ports";
import { type DestinationStream, pino } from "pino";
import { openStandardOutput } from "./standard-output.ts";

const REDACTED = ["password", "token", "secret", "api_key", "cookie", "authorization", "dsn"];

/** Creates a logger of JSON lines to standard output, or to `taker`. Credentials are redacted. */
export function createServerLogger(level: string, taker: DestinationStream = openStandardOutput()): Logger {
  const options = {
    level,
    redact: { paths: REDACTED.flatMap((name) => [name, `*.${name}`]), censor: "***" },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    base: { pid: process.pid },
  };
  return pino(options, taker);
}
