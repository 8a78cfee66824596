import type { ColumnType } from "@appdb/contract/types";
import { kindOf } from "./kinds.ts";

/** The type that a column's values are stored as, without its collation. */
export function storageType(type: ColumnType): string {
  return kindOf(type).storage(type);
}

/** The collation of a column's type as it follows the type in SQL; empty for what has none. */
export function storageCollation(type: ColumnType): string {
  return kindOf(type).collation(type);
}

/** Casts SQL to the storage type of a column, so that a reader sees the value as it will be stored. */
export function castToStorage(sql: string, type: ColumnType): string {
  return kindOf(type).cast(sql, type);
}

/** The type of one value in an array parameter that carries a column of many rows. */
export function transportType(type: ColumnType): string {
  return kindOf(type).transport ?? storageType(type);
}

/** A value that came by an array parameter as its column stores it. The elements of a parameter come with the
 *  database's collation; the columns that they go to have the one that counts. */
export function fromTransport(sql: string, type: ColumnType): string {
  return kindOf(type).transport === null ? `${sql}${storageCollation(type)}` : castToStorage(sql, type);
}
