import type { PodLine } from "./pod-driver.ts";

/** pino's level numbers. */
const LEVELS = [
  { least: 50, level: "error" },
  { least: 40, level: "warn" },
  { least: 30, level: "info" },
  { least: 0, level: "debug" },
] as const;
const NAMES: Readonly<Record<string, PodLine["level"]>> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  warn: "warn",
  error: "error",
  fatal: "error",
};
/** Members that are shown differently or hidden. */
const SHOWN = new Set(["level", "time", "msg", "pid", "hostname"]);

/**
 * Formats a log line. A pino entry becomes its message followed by its other members as JSON. Any other text becomes a
 * line with level `info`. `previous` is the time of the previous line, for lines without a time.
 */
export function parseLogLine(text: string, previous: string): PodLine {
  const entry = parseEntry(text);
  if (entry === undefined) return { at: previous, level: "info", line: text };
  // output of the application is kept unchanged
  if (entry["msg"] === "output" && typeof entry["line"] === "string") {
    return { at: timeOf(entry["time"]) ?? previous, level: levelOf(entry["level"]), line: entry["line"] };
  }
  const rest = Object.fromEntries(Object.entries(entry).filter(([name]) => !SHOWN.has(name)));
  const words = Object.keys(rest).length === 0 ? "" : JSON.stringify(rest);
  return {
    at: timeOf(entry["time"]) ?? previous,
    level: levelOf(entry["level"]),
    line: [entry["msg"], words].filter((part) => part !== "").join(" "),
  };
}

function parseEntry(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    const isEntry = typeof found === "object" && found !== null && "msg" in found && typeof found.msg === "string";
    return isEntry ? { ...found } : undefined;
  } catch {
    // output that looks like JSON, or a line cut off by a crash
    return undefined;
  }
}

function timeOf(time: unknown): string | undefined {
  if (typeof time !== "string" && typeof time !== "number") return undefined;
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function levelOf(level: unknown): PodLine["level"] {
  if (typeof level === "string") return NAMES[level] ?? "info";
  return LEVELS.find(({ least: min }) => typeof level === "number" && level >= min)?.level ?? "info";
}
