/** A condition to check on stored values before a column is narrowed. */
export interface Check {
  /** A condition over `$value`, true for a value that does not fit. */
  readonly misfit: string;
  /** The end of "5 rows do not fit: ...". */
  readonly reason: string;
}

/** How the values of a stored column change to another type. */
export interface TypeChange {
  /** The conversion, over `$value`; null when stored values stay the same. */
  readonly using: string | null;
  readonly checks: readonly Check[];
  /** A JSON Schema that every value must match; null for none. */
  readonly schema: Readonly<Record<string, unknown>> | null;
}

/** Placeholder for the column in a Check or a conversion. */
export const VALUE = "$value";

/** The values stay the same. */
export const KEPT: TypeChange = { using: null, checks: [], schema: null };
