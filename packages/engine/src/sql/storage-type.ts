import type { TypeKind } from "@appdb/contract/types";

/** The type a kind is stored as. Text always carries the one collation that agrees with Python. */
export const STORAGE_TYPES = {
  string: "text",
  int: "int8",
  float: "float8",
  bool: "bool",
  timestamp: "timestamptz",
  date: "date",
  uuid: "uuid",
  json: "json",
} as const satisfies Record<TypeKind, string>;

/** Casts SQL to the storage type of a kind, so that a reader sees the value as it will be stored. */
export function castToStorage(sql: string, kind: TypeKind): string {
  const cast = `(${sql})::${STORAGE_TYPES[kind]}`;
  return kind === "string" ? `${cast} collate pg_unicode_fast` : cast;
}
