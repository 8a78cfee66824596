import type { Logger } from "@appdb/engine/ports";

/** A logger that records its lines for tests and prints nothing. */
export function createSilentLog(): Logger & {
  readonly lines: readonly { level: string; message: string; fields: object }[];
} {
  const lines: { level: string; message: string; fields: object }[] = [];
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, message, fields });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
