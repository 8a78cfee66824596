import type { ArrayDtype, ColumnType, TypeKind, VectorPrecision } from "@appdb/contract/types";

const SCALARS = {
  string: "text",
  int: "int8",
  float: "float8",
  bool: "bool",
  timestamp: "timestamptz",
  date: "date",
  uuid: "uuid",
  json: "json",
  binary: "bytea",
} as const satisfies Record<Exclude<TypeKind, "array">, string>;

/** A real array type, so that psql shows the elements and pgvector can cast them. PostgreSQL has no integer of one byte. */
const ELEMENTS = {
  bool: "bool",
  uint8: "int2",
  int8: "int2",
  int16: "int2",
  int32: "int4",
  int64: "int8",
  float32: "float4",
  float64: "float8",
  string: "text",
} as const satisfies Record<ArrayDtype, string>;

/** The type that a column's values are stored as, without its collation. */
export function storageType(type: ColumnType): string {
  if (type.vector !== undefined) return vectorType(type.vector, type.shape?.[0] ?? 0);
  return type.kind === "array" ? `${ELEMENTS[dtypeOf(type)]}[]` : SCALARS[type.kind];
}

/** The collation of a column's type as it follows the type in SQL; empty for what has none. Text always carries the one
 *  collation that agrees with Python. */
export function storageCollation(type: ColumnType): string {
  const isText = type.kind === "string" || (type.kind === "array" && type.dtype === "string");
  return isText ? " collate pg_catalog.pg_unicode_fast" : "";
}

/** The type of pgvector for vectors of a length, as it is called wherever the extension was put. */
export function vectorType(precision: VectorPrecision, dimensions: number): string {
  return `appdb.${precision === "fp16" ? "halfvec" : "vector"}(${dimensions})`;
}

/** Casts SQL to the storage type of a column, so that a reader sees the value as it will be stored. */
export function castToStorage(sql: string, type: ColumnType): string {
  // Its text is that of an array, which pgvector does not read, but casts.
  if (type.vector !== undefined) return `((${sql})::${ELEMENTS[dtypeOf(type)]}[])::${storageType(type)}`;
  return `(${sql})::${storageType(type)}${storageCollation(type)}`;
}

/** The type of one value in an array parameter that carries a column of many rows. Arrays travel as text: arrays of
 *  arrays would have to be of one length, and unnest() would take them all apart. */
export function transportType(type: ColumnType): string {
  return type.kind === "array" ? "text" : storageType(type);
}

/** A value that came by an array parameter as its column stores it. The elements of a parameter come with the
 *  database's collation; the columns that they go to have the one that counts. */
export function fromTransport(sql: string, type: ColumnType): string {
  if (type.kind === "array") return castToStorage(sql, type);
  return `${sql}${storageCollation(type)}`;
}

/** An array type's dtype, which the contract's schema demands of it. */
export function dtypeOf(type: ColumnType): ArrayDtype {
  if (type.dtype === undefined) throw new TypeError("An array type came without its dtype.");
  return type.dtype;
}
