import { plainAddress } from "@appdb/contract/media";
import type { EngineValue, TypeKind } from "@appdb/contract/types";
import { UUID_TYPE } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import { fromSqlText, valueToJson } from "../kinds/values.ts";
import type { CatalogColumn, CatalogTable } from "./catalog.ts";

/** Characters of a long value in a plan. */
const SHOWN = 120;

/** The columns that identify a row for people: the declared key, else the row's identity. */
export function keyColumns(table: CatalogTable): readonly Pick<CatalogColumn, "name" | "type">[] {
  const declared = table.columns.filter((column) => table.primary_key.includes(column.name));
  return declared.length > 0 ? declared : [{ name: table.identity, type: UUID_TYPE }];
}

/** The key of a row, from the first of its values. */
export function shownRowKey(
  key: readonly Pick<CatalogColumn, "name" | "type">[],
  values: readonly (string | null)[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(key.map((column, at) => [column.name, shownValue(column, values[at] ?? null)]));
}

/** A stored value for a plan: its JSON, shortened. */
export function shownValue({ type }: Pick<CatalogColumn, "type">, text: string | null): unknown {
  if (text === null) return null;
  return shownOf(type.kind, fromSqlText(type, text));
}

/** A value for a plan. A file is its address; long values, and numbers that would lose digits, become text. */
export function shownOf(kind: TypeKind, cell: EngineValue): unknown {
  if (isMedia(kind) && cell !== null) return plainAddress(String(cell));
  const json = valueToJson(kind, cell);
  if (json.length > SHOWN) return `${json.slice(0, SHOWN)}…`;
  const value: unknown = JSON.parse(json);
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) ? json : value;
}
