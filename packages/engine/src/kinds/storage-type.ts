import type { ColumnType } from "@appdb/contract/types";
import { kindOf } from "./kinds.ts";

/** The stored type of a column, without its collation. */
export function storageType(type: ColumnType): string {
  return kindOf(type).storage(type);
}

/** The collation after a column's type in SQL; empty for types without one. */
export function storageCollation(type: ColumnType): string {
  return kindOf(type).collation(type);
}

/** Casts SQL to the storage type of a column, so that readers see the value as stored. */
export function castToStorage(sql: string, type: ColumnType): string {
  return kindOf(type).cast(sql, type);
}

/** The type of one value in an array parameter with a column of many rows. */
export function transportType(type: ColumnType): string {
  return kindOf(type).transport ?? storageType(type);
}

/** Converts a value from an array parameter to its column's stored form. Parameter elements have the database's
 *  collation; the column has the one that applies. */
export function fromTransport(sql: string, type: ColumnType): string {
  return kindOf(type).transport === null ? `${sql}${storageCollation(type)}` : castToStorage(sql, type);
}
