import type { TypeKind } from "@appdb/contract/types";

const SQL_TYPES = {
  string: "text",
  int: "int8",
  float: "float8",
  bool: "bool",
  timestamp: "timestamptz",
  date: "date",
  uuid: "uuid",
  json: "json",
} as const satisfies Record<TypeKind, string>;

/** Quotes a name for SQL: `"a ""b"""`. @throws Error when it holds NUL, which no name of PostgreSQL can */
export function quoteIdent(name: string): string {
  refuseNul(name);
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes text for SQL, safe whatever `standard_conforming_strings` says. @throws Error when it holds NUL, which no text of PostgreSQL can */
export function quoteLiteral(text: string): string {
  refuseNul(text);
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/**
 * Writes a literal of an expression tree as SQL of its type; undefined when the value is not one of the kind's forms
 * (contract/src/expressions.ts), which is then left to Python.
 */
export function literalSql(value: string | number | boolean | null, kind: TypeKind): string | undefined {
  const type = SQL_TYPES[kind];
  if (value === null) return `NULL::${type}`;
  if (kind === "bool") return typeof value === "boolean" ? String(value) : undefined;
  const text = literalText(value, kind);
  return text === undefined || text.includes("\0") ? undefined : `${quoteLiteral(text)}::${type}`;
}

function literalText(value: string | number | boolean, kind: TypeKind): string | undefined {
  if (kind === "float") {
    if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
    return Object.is(value, -0) ? "-0" : String(value);
  }
  if (typeof value !== "string") return undefined;
  return kind === "int" && !/^-?[0-9]{1,19}$/.test(value) ? undefined : value;
}

function refuseNul(text: string): void {
  if (text.includes("\0")) throw new Error("text for SQL holds NUL");
}
