import type { Expr, VectorMetric } from "@appdb/contract/expressions";
import type { ManifestColumn, ManifestQuery } from "@appdb/contract/manifest";
import type { ColumnType, VectorPrecision } from "@appdb/contract/types";

/**
 * What a target holds, as one immutable value that is swapped whole when it changes: a request never sees half a schema.
 * Stored in the target's own PostgreSQL schema `appdb`; ids outlive names.
 */
export interface Catalog {
  /** Counts every schema change of the target; plan and apply compare and swap on it. */
  readonly version: number;
  readonly tables: readonly CatalogTable[];
  readonly functions: ReadonlyMap<string, CatalogFunction>;
}

export interface CatalogTable {
  readonly id: number;
  /** PostgreSQL schema: `public` for the target's root, else the folder's name. */
  readonly folder: string;
  readonly name: string;
  /** Counts changes of this table; every write carries it and the statement itself checks it. */
  readonly version: number;
  readonly model: string;
  readonly comment: string | null;
  readonly custom_metadata: unknown;
  /** Column names, empty for a table without a key. */
  readonly primary_key: readonly string[];
  readonly has_default_idxs: boolean;
  /** The PostgreSQL primary key: `_row`, or the column that is the single uuid7() key. Made by the engine before writing. */
  readonly identity: string;
  readonly columns: readonly CatalogColumn[];
  readonly indexes: readonly CatalogIndex[];
  /** The name that the file said it had had, when it was last applied: that rename is made. */
  readonly renamed_from?: string | null;
  /** Folder of the local project that last updated it; null when none has, and for hosted tables. */
  readonly project?: string | null;
  /** Whether it had rows when the catalog was read; a plan may add a NOT NULL column only to an empty table. */
  readonly has_rows?: boolean;
}

export interface CatalogColumn {
  readonly id: number;
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  readonly primary_key: boolean;
  readonly computed: {
    readonly text: string;
    readonly expr: Expr;
    /** The queries that it asks, as they were when it was applied (column-queries.ts); absent for none. */
    readonly queries?: readonly ManifestQuery[];
  } | null;
  /** What a stored column gets where a request does not name it; null or absent for none. */
  readonly default?: ManifestColumn["default"];
  /** `filling`: added by an update whose fill job has not ended; nullable in PostgreSQL and unseen by readers. */
  readonly state: "ready" | "filling";
  /** Its expression was changed, but recomputing the stored values failed: some are those of the former expression. */
  readonly stale?: boolean;
  /** Digests of the code that its values were computed by, by function id; null when it calls none, or that is not known. */
  readonly code?: Readonly<Record<string, string>> | null;
  /** As for a table. */
  readonly renamed_from?: string | null;
  readonly comment: string | null;
  readonly custom_metadata: unknown;
  /** Holds the vectors of an embedding index; nobody reads it by name. */
  readonly is_hidden?: boolean | undefined;
}

export interface CatalogIndex {
  readonly id: number;
  readonly kind: "btree" | "embedding";
  /** As declared; null for one that was not named. */
  readonly name: string | null;
  /** Its name in PostgreSQL. */
  readonly sql_name: string;
  readonly columns: readonly string[];
  readonly state: "ready" | "building";
  readonly embedding?: EmbeddingOptions | null;
  /** How the vectors of the hidden column are made, and whether they are all there; null without such a column. */
  readonly vectors?: { readonly state: CatalogColumn["state"]; readonly expr: Expr } | null;
  /** The index of the same declaration, as it was, that answers until this one is built. */
  readonly replaces?: number | null;
}

export interface EmbeddingOptions {
  readonly metric: VectorMetric;
  readonly precision: VectorPrecision;
  readonly dimensions: number;
  /** The hidden column that holds the vectors; null when the indexed column itself does. */
  readonly values: string | null;
}

export interface CatalogFunction {
  readonly id: string;
  readonly module: string;
  readonly name: string;
  readonly digest: string;
}
