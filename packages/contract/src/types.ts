import * as z from "zod";

/** The kinds of a column's type. A kind has one storage type, one JSON form and one Python form (docs/adr/0002-values-and-two-evaluators.md). */
export const TYPE_KINDS = ["string", "int", "float", "bool", "timestamp", "date", "uuid", "json"] as const;
export type TypeKind = (typeof TYPE_KINDS)[number];

export const columnTypeSchema = z.strictObject({ kind: z.enum(TYPE_KINDS) });
export type ColumnType = z.infer<typeof columnTypeSchema>;

const DISPLAY = {
  string: "String",
  int: "Int",
  float: "Float",
  bool: "Bool",
  timestamp: "Timestamp",
  date: "Date",
  uuid: "UUID",
  json: "Json",
} as const satisfies Record<TypeKind, string>;

/** Prints a type as a person writes it in app.py: `String`, `Int | None`. */
export function displayType(type: ColumnType, nullable: boolean): string {
  return nullable ? `${DISPLAY[type.kind]} | None` : DISPLAY[type.kind];
}

/**
 * A value inside the engine and in worker frames, by the kind of its column:
 * string -> string; int -> number when safe, else bigint; float -> number (finite); bool -> boolean;
 * timestamp -> `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`; date -> `YYYY-MM-DD`; uuid -> lower-case text with hyphens;
 * json -> JSON text (key order and digits kept); null for null.
 */
export type EngineValue = string | number | bigint | boolean | null;
