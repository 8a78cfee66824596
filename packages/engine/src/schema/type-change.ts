import type { ColumnType } from "@appdb/contract/types";
import { isSameType } from "../catalog/compare.ts";
import { kindOf } from "../kinds/kinds.ts";
import { isMedia } from "../kinds/media.ts";
import { storageType } from "../kinds/storage-type.ts";
import { type Check, KEPT, type TypeChange, VALUE } from "../kinds/type-change.ts";

/** No value can be null any more. */
export const NULL_CHECK: Check = { misfit: `${VALUE} is null`, reason: "no value" };

/** The conversion of a column's values to another type; undefined when no conversion keeps every value exactly. */
export function planTypeChange(from: ColumnType, to: ColumnType, isEmpty: boolean): TypeChange | undefined {
  if (isSameType(from, to)) return KEPT;
  const hasNoMedia = isEmpty && from.kind === to.kind && isMedia(from.kind);
  return hasNoMedia ? KEPT : kindOf(from).changes[to.kind]?.(from, to);
}

/** True when both types have the same storage. */
export function hasSameStorage(from: ColumnType, to: ColumnType): boolean {
  return storageType(from) === storageType(to);
}
