import type { ColumnType, TypeKind } from "@appdb/contract/types";
import { array } from "./array.ts";
import { binary } from "./binary.ts";
import { bool } from "./bool.ts";
import { date } from "./date.ts";
import { float } from "./float.ts";
import { int } from "./int.ts";
import { json } from "./json.ts";
import type { Kind } from "./kind.ts";
import { audio, document, image, video } from "./media.ts";
import { string } from "./string.ts";
import { timestamp } from "./timestamp.ts";
import { uuid } from "./uuid.ts";

/** The kinds of column types, in the order of the contract. */
export const KINDS = {
  string,
  int,
  float,
  bool,
  timestamp,
  date,
  uuid,
  json,
  array,
  binary,
  image,
  video,
  audio,
  document,
} as const satisfies Record<TypeKind, Kind>;

/** The definition of a type's kind. */
export function kindOf({ kind }: Pick<ColumnType, "kind">): Kind {
  return KINDS[kind];
}

/** Types of the engine's own values. */
export const BOOL_TYPE: ColumnType = { kind: "bool" };
export const STRING_TYPE: ColumnType = { kind: "string" };
export const INT_TYPE: ColumnType = { kind: "int" };
export const FLOAT_TYPE: ColumnType = { kind: "float" };
export const UUID_TYPE: ColumnType = { kind: "uuid" };
export const JSON_TYPE: ColumnType = { kind: "json" };
