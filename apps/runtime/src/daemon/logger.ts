import type { Logger } from "@appdb/engine/ports";
import { pino } from "pino";
import type { RotatingFile } from "./rotating-file.ts";

/** Logs pino's JSON lines to a rotating file, each with `who`. Never log environments or credentials. */
export function createProgramLogger(file: RotatingFile, level: string, who: LogWriter = {}): Logger {
  return pino(
    {
      level,
      redact: { paths: ["*.env", "*.dsn", "*.token", "env", "dsn", "token"], censor: "***" },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      base: { pid: process.pid, ...who },
    },
    { write: (line: string) => file.write(line) },
  );
}

/** Writer of a shared log. Process ids may be equal in two sandboxes. */
export interface LogWriter {
  readonly instance?: number | undefined;
}

/** Writes a log line for each request. */
export type RequestLog = (fields: Readonly<Record<string, unknown>>) => void;

/**
 * Writes lines like those of `createProgramLogger` in batches, within a tenth of a second. Without pino, whose
 * redaction takes three times as long, so entries must not contain secrets.
 */
export function createRequestLog(file: RotatingFile, who: LogWriter = {}): RequestLog {
  const writer = JSON.stringify({ pid: process.pid, ...who }).slice(1, -1);
  let at = Number.NaN;
  let time = "";
  return (fields) => {
    const now = Date.now();
    // under load many lines share a millisecond, and formatting a time costs as much as the rest of a line
    if (now !== at) time = new Date(now).toISOString();
    at = now;
    const fieldsJson = JSON.stringify(fields).slice(1, -1);
    const more = fieldsJson === "" ? "" : `,${fieldsJson}`;
    file.writeSoon(`{"level":"info","time":"${time}",${writer}${more},"msg":"request"}\n`);
  };
}
