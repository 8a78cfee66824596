import type { CatalogTable } from "../catalog/catalog.ts";

/** Facts of a plan that only the rows have. Names are those after the update. */
export interface PlanFacts {
  /** Row counts of tables, by id, where the plan depends on them. */
  readonly rows: ReadonlyMap<number, number>;
  /** By `factKey`: values that a narrowed column could not keep. */
  readonly misfits: ReadonlyMap<string, readonly NarrowingViolation[]>;
  /** By `factKey`: the effect of computing a column for all rows. */
  readonly recomputes: ReadonlyMap<string, Recompute>;
}

export interface NarrowingViolation {
  /** The end of "5 rows do not fit: ...". */
  readonly reason: string;
  readonly rows: number;
  /** The first few, each by its key. */
  readonly examples: readonly { readonly key: Readonly<Record<string, unknown>>; readonly value: unknown }[];
}

export interface Recompute {
  readonly rows: number;
  /** All columns that are computed in the same pass over the table. */
  readonly columns: readonly string[];
  /** Estimated duration of that pass; null when the sample took too long or could not be computed. */
  readonly estimate_s: number | null;
  /** Rows computed for the estimate. Nothing was stored. */
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

/** Key of a table's column in PlanFacts. */
export function factKey(table: Pick<CatalogTable, "id">, column: string): string {
  return `${table.id}/${column}`;
}
