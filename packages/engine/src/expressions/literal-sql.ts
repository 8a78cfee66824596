import type { ColumnType, TypeKind } from "@appdb/contract/types";
import { quoteLiteral } from "../sql/quote.ts";
import { storageType } from "../sql/storage-type.ts";
import { arrayToSql } from "../values/array-sql.ts";

/**
 * Writes a literal of an expression tree as SQL of its type; undefined when the value is not one of the kind's forms
 * (contract/src/expressions.ts), which is then left to Python.
 */
export function literalSql(value: string | number | boolean | null, type: ColumnType): string | undefined {
  const { kind } = type;
  if (value === null) return `NULL::${storageType(type)}`;
  if (kind === "bool") return typeof value === "boolean" ? String(value) : undefined;
  const text = literalText(value, kind);
  return text === undefined || text.includes("\0") ? undefined : `${quoteLiteral(text)}::${storageType(type)}`;
}

function literalText(value: string | number | boolean, kind: TypeKind): string | undefined {
  if (kind === "float") {
    if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
    return Object.is(value, -0) ? "-0" : String(value);
  }
  if (typeof value !== "string") return undefined;
  if (kind === "array") return arrayToSql(value);
  if (kind === "binary") return `\\x${Buffer.from(value, "base64").toString("hex")}`;
  return kind === "int" && !/^-?[0-9]{1,19}$/.test(value) ? undefined : value;
}
