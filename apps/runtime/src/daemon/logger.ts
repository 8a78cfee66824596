import type { Logger } from "@appdb/engine/ports";
import { pino } from "pino";
import type { RotatingFile } from "./rotating-file.ts";

/** pino's JSON lines into a rotating file, each with `who`. Environments and credentials never reach the log. */
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

/** Who writes, where several write to one log: process ids may be the same in two sandboxes. */
export interface LogWriter {
  readonly instance?: number | undefined;
}

/** Writes a line of a log for each request. */
export type RequestLog = (fields: Readonly<Record<string, unknown>>) => void;

/**
 * Lines as those of `createProgramLogger`, written within a tenth of a second, many at once. They are made without pino, whose redaction takes
 * three times as long: what is told here is to be free of secrets.
 */
export function createRequestLog(file: RotatingFile, who: LogWriter = {}): RequestLog {
  const writer = JSON.stringify({ pid: process.pid, ...who }).slice(1, -1);
  let at = Number.NaN;
  let time = "";
  return (fields) => {
    const now = Date.now();
    // under load many lines are of one millisecond, and to write a time costs as much as the rest of a line
    if (now !== at) time = new Date(now).toISOString();
    at = now;
    const told = JSON.stringify(fields).slice(1, -1);
    const more = told === "" ? "" : `,${told}`;
    file.writeSoon(`{"level":"info","time":"${time}",${writer}${more},"msg":"request"}\n`);
  };
}
