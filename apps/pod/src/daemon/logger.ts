import type { Logger } from "@appdb/engine/ports";
import { pino } from "pino";
import type { RotatingFile } from "./rotating-file.ts";

/** pino's JSON lines into a rotating file. Environments and credentials never reach the log. */
export function createLogger(file: RotatingFile, level: string): Logger {
  return pino(
    {
      level,
      redact: { paths: ["*.env", "*.dsn", "*.token", "env", "dsn", "token"], censor: "***" },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      base: { pid: process.pid },
    },
    { write: (line: string) => file.write(line) },
  );
}
