import type { ColumnType } from "@appdb/contract/types";
import { isSameType } from "../catalog/compare.ts";
import { kindOf } from "../kinds/kinds.ts";
import { storageType } from "../kinds/storage-type.ts";
import { type Check, KEPT, type TypeChange, VALUE } from "../kinds/type-change.ts";

/** No value may be null any more. */
export const NULL_CHECK: Check = { misfit: `${VALUE} is null`, reason: "no value" };

/** How a column's values become those of another type; undefined when there is no way that keeps every value what it is. */
export function planTypeChange(from: ColumnType, to: ColumnType): TypeChange | undefined {
  return isSameType(from, to) ? KEPT : kindOf(from).changes[to.kind]?.(from, to);
}

/** True when values of one type are stored as those of the other are. */
export function isStoredAlike(from: ColumnType, to: ColumnType): boolean {
  return storageType(from) === storageType(to);
}
