import type { LogLine } from "@appdb/contract/routes/control-databases";
import { showControls } from "./show-controls.ts";

/** Keys of JSON log lines with a fixed position in the text. */
const PLACED = new Set(["level", "time", "msg", "line", "pid", "hostname"]);

/**
 * Formats a line of a service's log: `2026-11-21T15:17:01.123Z info  service listens  port=8000`. Output of the
 * application and unknown lines stay unchanged.
 */
export function describeLogLine(line: string): string {
  const entry = parseEntry(line);
  if (entry === undefined) return line;
  const { level, time, msg, line: printed } = entry;
  if (typeof printed === "string") return `${time} ${printed}`;
  const fields = Object.entries(entry)
    .filter(([key, value]) => !PLACED.has(key) && value !== null)
    .map(([key, value]) => `${key}=${showControls(typeof value === "object" ? JSON.stringify(value) : String(value))}`);
  return [`${time} ${String(level).padEnd(5)}`, msg, ...fields].join("  ");
}

/** Formats a line of a hosted pod's log: `2026-11-22T10:00:00.000Z info   database ready` */
export function describePodLine({ at, level, line }: LogLine): string {
  return `${at} ${level.padEnd(5)}  ${showControls(line)}`;
}

function parseEntry(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const entry: unknown = JSON.parse(line);
    const isLogEntry =
      typeof entry === "object" && entry !== null && "level" in entry && "time" in entry && "msg" in entry;
    return isLogEntry ? (entry as Record<string, unknown>) : undefined;
  } catch {
    // Output of the application may start with a brace.
    return undefined;
  }
}
