import { HOSTED_SCHEME, isHosted, parseTarget, type Target } from "@appdb/contract/names";

/** Where paths of the shell begin. Undefined: this machine, whose entries are its databases. */
export type Location = Target | undefined;

const MACHINE = "/";

/** `main`, `cloud://acme:main/reports`, or `/` for this machine. */
export function locationText(location: Location): string {
  return location?.text ?? MACHINE;
}

/** The database of a location: `main`, `cloud://acme:main`. */
export function databaseOf(target: Target): string {
  return target.kind === "local" ? target.database : target.uri.text;
}

/**
 * The complete path of a typed one; undefined for this machine. Paths begin at the location, except those with a
 * scheme, with a `/` first, or with the location's own local database first. That name alone is a table, or the
 * database, as `kind` says.
 */
export function resolvePath(location: Location, typed: string, kind: "table" | "target"): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(typed)) return typed;
  const parts = beginsAtMachine(location, typed, kind) ? [] : partsOf(location);
  for (const part of typed.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.length === 0 ? undefined : parts.join("/");
}

/** Parses a typed path of a database or folder. @throws invalid_target */
export function parseLocation(location: Location, typed: string): Location {
  const path = resolvePath(location, typed, "target");
  return path === undefined ? undefined : parseTarget(path);
}

function beginsAtMachine(location: Location, typed: string, kind: "table" | "target"): boolean {
  if (location === undefined || typed.startsWith(MACHINE)) return true;
  const [first = ""] = typed.split(/[/.]/);
  if (location.kind !== "local" || first.toLowerCase() !== location.database) return false;
  return kind === "target" || typed !== first;
}

function partsOf(location: Location): string[] {
  if (location === undefined) return [];
  const [database, ...folders] = isHosted(location.text)
    ? location.text.slice(HOSTED_SCHEME.length).split("/")
    : location.text.split("/");
  return [isHosted(location.text) ? `${HOSTED_SCHEME}${database}` : (database ?? ""), ...folders];
}
