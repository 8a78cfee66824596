import type { ColumnType } from "@appdb/contract/types";
import { storageType } from "../sql/storage-type.ts";
import { isSameType } from "./compare.ts";

/** What the values of a stored column have to be looked through for before its definition is narrowed. */
export interface Check {
  /** A condition over `$value`, true for a value that does not fit. */
  readonly misfit: string;
  /** Ends "5 rows do not fit: ...". */
  readonly reason: string;
}

/** How a stored column's values get from one type to another. */
export interface TypeChange {
  /** The conversion, over `$value`; null when the values stay as they are stored. */
  readonly using: string | null;
  readonly checks: readonly Check[];
  /** A JSON Schema that every value has to meet; null for none. */
  readonly schema: Readonly<Record<string, unknown>> | null;
}

/** Stands for the column in a Check or a conversion. */
export const VALUE = "$value";

/** No value may be null any more. */
export const NULL_CHECK: Check = { misfit: `${VALUE} is null`, reason: "no value" };

/** Integers up to this size have a float of their own. */
const EXACT_FLOAT = "9007199254740992";
const INT_BOUND = "9223372036854775808";

const KEPT: TypeChange = { using: null, checks: [], schema: null };

/** Undefined when there is no way that keeps every value what it is. */
export function planTypeChange(from: ColumnType, to: ColumnType): TypeChange | undefined {
  if (isSameType(from, to)) return KEPT;
  if (from.kind === "json" && to.kind === "json") return { ...KEPT, schema: to.schema ?? null };
  if (from.kind === "array" && to.kind === "array") return isWiderArray(from, to) ? KEPT : undefined;
  if (from.kind === "int" && to.kind === "float") {
    const misfit = `${VALUE} not between -${EXACT_FLOAT} and ${EXACT_FLOAT}`;
    return {
      using: `${VALUE}::float8`,
      checks: [{ misfit, reason: "beyond 2^53, which a Float may not hold exactly" }],
      schema: null,
    };
  }
  if (from.kind === "float" && to.kind === "int") {
    const misfit = `(${VALUE} <> trunc(${VALUE}) or ${VALUE} < -${INT_BOUND}::float8 or ${VALUE} >= ${INT_BOUND}::float8)`;
    return { using: `${VALUE}::int8`, checks: [{ misfit, reason: "no whole number of 64 bits" }], schema: null };
  }
  return undefined;
}

/** True when values of one type are stored as those of the other are. */
export function isStoredAlike(from: ColumnType, to: ColumnType): boolean {
  return storageType(from) === storageType(to);
}

function isWiderArray(from: ColumnType, to: ColumnType): boolean {
  if (from.dtype !== to.dtype) return false;
  const [before, after] = [from.shape ?? null, to.shape ?? null];
  if (after === null) return true;
  return before?.length === after.length && after.every((length, at) => length === null || length === before[at]);
}
