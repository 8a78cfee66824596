import { type AppError, appError } from "@appdb/contract/errors";

/** Parameters and texts shared by several commands. */
export const text = (input: string): string => input;

export const FILE = { brief: "The application file", placeholder: "FILE", parse: text } as const;
export const TARGET = { brief: "The database: main, main/reports", placeholder: "TARGET", parse: text } as const;
export const ANY_TARGET = { ...TARGET, brief: "The database: main, main/reports, cloud://acme:main" } as const;
export const SERVICE = {
  brief: "One service of the file; defaults to all",
  placeholder: "SERVICE",
  parse: text,
  optional: true,
} as const;
export const NAMES = {
  kind: "array",
  parameter: { brief: "Services with their target: main/ingest", placeholder: "NAME", parse: text },
  minimum: 1,
} as const;

export const HOSTED_SERVICE = {
  kind: "tuple",
  parameters: [{ brief: "The hosted service: cloud://acme:main/ingest", placeholder: "NAME", parse: text }],
} as const;

export const PYTHON_FLAG = {
  kind: "parsed",
  parse: text,
  optional: true,
  brief: "Python of the application; found automatically by default",
  placeholder: "path",
} as const;
export const FORCE_FLAG = { kind: "boolean", brief: "Do not ask", default: false } as const;
export const DRY_RUN_FLAG = { kind: "boolean", brief: "Only show what would be done", default: false } as const;
export const DESTRUCTIVE_FLAG = { kind: "boolean", brief: "Allow changes that destroy data", default: false } as const;
export const BREAKING_FLAG = { ...DESTRUCTIVE_FLAG, brief: "Allow changes that break callers of a service" } as const;
export const PORT_FLAG = {
  kind: "parsed",
  parse: parsePort,
  optional: true,
  brief: "Port of the service",
  placeholder: "number",
} as const;

/** The error of a command line or an input that cannot be used. */
export function usageError(detail: string, hint: string): AppError {
  return appError("usage", { detail, hint });
}

/** Parses a port. @throws Error with a message that the command-line parser prints */
export function parsePort(input: string): number {
  const port = Number(input);
  if (/^\d{1,5}$/.test(input) && port >= 1 && port <= 65535) return port;
  throw new Error("a port is a whole number from 1 to 65535");
}

/** Parses a whole number of at least 1. @throws Error */
export function parseCount(input: string): number {
  if (/^\d{1,6}$/.test(input) && Number(input) >= 1) return Number(input);
  throw new Error("expected a whole number from 1 to 999999");
}

/** Parses a whole number from 1 to `max`. @throws Error */
export function parseCountUpTo(max: number): (input: string) => number {
  return (input) => {
    if (/^\d{1,9}$/.test(input) && Number(input) >= 1 && Number(input) <= max) return Number(input);
    throw new Error(`expected a whole number from 1 to ${max}`);
  };
}

const UNITS_S: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 };

/** Parses a duration such as `90d`, `12h`, `30m` to seconds. @throws Error */
export function parseDuration(input: string): number {
  const [, number, unit = ""] = /^([1-9]\d{0,6})([mhd])$/.exec(input) ?? [];
  const unitS = UNITS_S[unit];
  if (number !== undefined && unitS !== undefined) return Number(number) * unitS;
  throw new Error("expected a time in minutes, hours or days: 30m, 12h, 90d");
}

/** Parses a duration of at most that many days, the control plane's limit. @throws Error */
export function parseDurationUpTo(days: number): (input: string) => number {
  return (input) => {
    const seconds = parseDuration(input);
    if (seconds <= days * 86_400) return seconds;
    throw new Error(`expected at most ${days}d`);
  };
}
