import { readReference } from "@appdb/contract/media";
import type { EngineValue, TypeKind } from "@appdb/contract/types";
import { isMedia } from "../kinds/media.ts";
import { fromSqlText, valueToJson } from "../kinds/values.ts";
import type { CatalogColumn } from "./catalog.ts";

/** Characters of a long value in a plan. */
const SHOWN = 120;
/** Digits of a file's hash in a plan. */
const HASH_SHOWN = 8;

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

/** A value for a plan. A file is its type, size and the start of its hash, or the address that was given; long values, and numbers that would lose digits, become text. */
export function shownOf(kind: TypeKind, cell: EngineValue): unknown {
  if (isMedia(kind) && cell !== null) return shownFile(String(cell));
  const json = valueToJson(kind, cell);
  if (json.length > SHOWN) return `${json.slice(0, SHOWN)}…`;
  const value: unknown = JSON.parse(json);
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) ? json : value;
}

/** `image/jpeg 256x192 (3fa2b1c0)` */
function shownFile(cell: string): string {
  const { bytes, height, key = "", type = "file", url, width } = readReference(cell);
  if (url !== undefined) return url;
  const pixels = width === undefined || height === undefined ? undefined : `${width}x${height}`;
  const size = pixels ?? (bytes === undefined ? "" : `${bytes} bytes`);
  const hash = key.slice(key.lastIndexOf("/") + 1).slice(0, HASH_SHOWN);
  return [type, size, `(${hash})`].filter((part) => part !== "").join(" ");
}
