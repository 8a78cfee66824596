import type { ResultColumn } from "@appdb/contract/routes/data-queries";
import type { TypeKind } from "@appdb/contract/types";
import type { SqlField } from "../../ports.ts";

/** The kinds of PostgreSQL's types, by their fixed numbers. */
const KINDS: ReadonlyMap<number, TypeKind> = new Map([
  [16, "bool"],
  [17, "binary"],
  [20, "int"],
  [21, "int"],
  [23, "int"],
  [114, "json"],
  [700, "float"],
  [701, "float"],
  [1082, "date"],
  [1184, "timestamp"],
  [1700, "float"],
  [2950, "uuid"],
  [3802, "json"],
]);

/** The columns of a statement's result. A type without a kind has PostgreSQL's text. */
export function sqlColumns(fields: readonly SqlField[]): ResultColumn[] {
  return fields.map(({ name, type_oid: oid }) => ({
    name,
    type: { kind: KINDS.get(oid) ?? "string" },
    nullable: true,
  }));
}

/** Whether PostgreSQL's text of the column is JSON, which may have several lines. */
export function hasJson({ type }: Pick<ResultColumn, "type">): boolean {
  return type.kind === "json";
}
