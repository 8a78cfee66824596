import type { CatalogTable } from "../catalog/catalog.ts";

/** What only the rows can tell of a plan. Names are those that the columns will have. */
export interface PlanFacts {
  /** Rows of a table, by its id, where the plan depends on them. */
  readonly rows: ReadonlyMap<number, number>;
  /** By `factKey`: values that a narrowed column could not keep. */
  readonly misfits: ReadonlyMap<string, readonly NarrowingViolation[]>;
  /** By `factKey`: what computing a column for all rows means. */
  readonly recomputes: ReadonlyMap<string, Recompute>;
}

export interface NarrowingViolation {
  /** Ends "5 rows do not fit: ...". */
  readonly reason: string;
  readonly rows: number;
  /** The first few, each by its key. */
  readonly examples: readonly { readonly key: Readonly<Record<string, unknown>>; readonly value: unknown }[];
}

export interface Recompute {
  readonly rows: number;
  /** All columns that are computed in the same pass over the table. */
  readonly columns: readonly string[];
  /** How long that pass will take; null when the sample took too long to tell, or could not be computed. */
  readonly estimate_s: number | null;
  /** Rows that were computed for the estimate. Nothing of it was stored. */
  readonly sampled: number;
  readonly samples: readonly RowSample[];
  /** Why there is no sample. */
  readonly note: string | null;
}

export interface RowSample {
  readonly key: Readonly<Record<string, unknown>>;
  readonly old: unknown;
  readonly new: unknown;
  /** Why there is no new value. */
  readonly error: string | null;
}

export const NO_FACTS: PlanFacts = { rows: new Map(), misfits: new Map(), recomputes: new Map() };

/** Names a column of a table in Facts. */
export function factKey(table: Pick<CatalogTable, "id">, column: string): string {
  return `${table.id}/${column}`;
}
