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

/** The values stay what they are. */
export const KEPT: TypeChange = { using: null, checks: [], schema: null };
