import { UUID_TYPE } from "../kinds/kinds.ts";
import { fromSqlText, valueToJson } from "../kinds/values.ts";
import type { CatalogColumn, CatalogTable } from "./catalog.ts";

/** Characters that a plan shows of a long value. */
const SHOWN = 120;

/** What a person finds a row by: the declared key, else the row's identity. */
export function keyColumns(table: CatalogTable): readonly Pick<CatalogColumn, "name" | "type">[] {
  const declared = table.columns.filter((column) => table.primary_key.includes(column.name));
  return declared.length > 0 ? declared : [{ name: table.identity, type: UUID_TYPE }];
}

/** The key of a row, from the first values of it. */
export function shownRowKey(
  key: readonly Pick<CatalogColumn, "name" | "type">[],
  values: readonly (string | null)[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(key.map((column, at) => [column.name, shownValue(column, values[at] ?? null)]));
}

/** A stored value as a plan shows it: its JSON, long ones cut. */
export function shownValue({ type }: Pick<CatalogColumn, "type">, text: string | null): unknown {
  if (text === null) return null;
  return shownJson(valueToJson(type.kind, fromSqlText(type, text)));
}

/** JSON as a plan shows it; what is long, or would lose digits, is shown as text. */
export function shownJson(json: string): unknown {
  if (json.length > SHOWN) return `${json.slice(0, SHOWN)}…`;
  const value: unknown = JSON.parse(json);
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) ? json : value;
}
