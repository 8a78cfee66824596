import type { Expr, VectorMetric } from "@appdb/contract/expressions";
import type { ManifestColumn, ManifestQuery } from "@appdb/contract/manifest";
import type { ColumnType, VectorPrecision } from "@appdb/contract/types";

/**
 * The content of a target as one immutable value, which is replaced as a whole. A request therefore never sees half a
 * schema. Stored in the target's own PostgreSQL schema `appdb`. Ids survive renames.
 */
export interface Catalog {
  /** Increments with every schema change of the target. Plan and apply compare and swap on it. */
  readonly version: number;
  readonly tables: readonly CatalogTable[];
  readonly views: readonly CatalogView[];
  readonly functions: ReadonlyMap<string, CatalogFunction>;
}

/** A view: rows of a table. Its own columns are hidden columns of that table. */
export interface CatalogView {
  readonly id: number;
  readonly folder: string;
  readonly name: string;
  readonly table_id: number;
  readonly model: string;
  readonly comment: string | null;
  readonly custom_metadata: unknown;
  readonly definition: ViewDefinition;
  /** As for a table. */
  readonly renamed_from: string | null;
  readonly project: string | null;
}

export interface ViewDefinition {
  /** The table or view that it is declared over. */
  readonly base: string;
  /** The declared condition, for people; null for none. */
  readonly filter: string | null;
  /** The condition of its rows, over columns of the table; null for all rows. */
  readonly member: Expr | null;
  /** Its visible columns, those of its base first, with their names in the table. */
  readonly columns: readonly {
    readonly name: string;
    readonly column: string;
    /** Over an iterator view: how many tables further up the column is; absent for the view's own table. */
    readonly up?: number;
  }[];
  /** Names of its own and inherited indexes in the table, by their declared names. */
  readonly indexes: Readonly<Record<string, string>>;
  /** Its definition once a job has computed the shadows of its columns (shadow-columns.ts); absent for none. */
  readonly next?: ViewDefinition;
}

export interface CatalogTable {
  readonly id: number;
  /** PostgreSQL schema: `public` for the target's root, else the folder's name. */
  readonly folder: string;
  readonly name: string;
  /** Increments with every change of this table. Every write carries it, and the statement checks it. */
  readonly version: number;
  readonly model: string;
  readonly comment: string | null;
  readonly custom_metadata: unknown;
  /** Column names, empty for a table without a key. */
  readonly primary_key: readonly string[];
  readonly has_default_idxs: boolean;
  /** The PostgreSQL primary key: `_row`, or the single uuid7() key column. The engine generates it before a write. */
  readonly identity: string;
  /** Of the table with the rows of an iterator view: what makes them (contract, manifest.ts); null or absent for others. */
  readonly rows_of?:
    | {
        readonly table: string;
        /** The filtered view of the table whose rows make them; absent for all rows of the table. */
        readonly base?: string | undefined;
        readonly column: string;
        readonly text: string;
        readonly values?: Readonly<Record<string, string>> | undefined;
        /** Columns of its base that it shows: their names, and how many tables further up they are. */
        readonly columns?:
          | readonly { readonly name: string; readonly column: string; readonly up: number }[]
          | undefined;
      }
    | null
    | undefined;
  readonly columns: readonly CatalogColumn[];
  readonly indexes: readonly CatalogIndex[];
  /** The previous name in the last applied file. That rename has been done. */
  readonly renamed_from?: string | null;
  /** Folder of the local project that last updated it. Null for none and for hosted tables. */
  readonly project?: string | null;
  /** Whether it had rows when the catalog was loaded. A plan can add a NOT NULL column only to an empty table. */
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
    /** The queries that it uses, as last applied (column-queries.ts); absent for none. */
    readonly queries?: readonly ManifestQuery[];
  } | null;
  /** The value of a stored column that a request omits; null or absent for none. */
  readonly default?: ManifestColumn["default"];
  /** `filling`: an update added it and its fill job has not ended. It is nullable in PostgreSQL and hidden from
   *  readers. */
  readonly state: "ready" | "filling";
  /** The table has no values of it: the application computes it when it is read. Never in a catalog itself. */
  readonly is_unstored?: boolean;
  /** Its expression changed, but the recompute failed. Some values come from the previous expression. */
  readonly stale?: boolean;
  /** Digests of the code that computed its values, by function id. Null when it calls none, or when they are
   *  unknown. */
  readonly code?: Readonly<Record<string, string>> | null;
  /** As for a table. */
  readonly renamed_from?: string | null;
  readonly comment: string | null;
  readonly custom_metadata: unknown;
  /** Holds the vectors of an embedding index; hidden from users. */
  readonly is_hidden?: boolean | undefined;
}

export interface CatalogIndex {
  readonly id: number;
  readonly kind: "btree" | "embedding";
  /** As declared; null for an unnamed index. */
  readonly name: string | null;
  /** Its name in PostgreSQL. */
  readonly sql_name: string;
  readonly columns: readonly string[];
  readonly state: "ready" | "building";
  readonly embedding?: EmbeddingOptions | null;
  /** The expression of the hidden vector column and its state; null without such a column. */
  readonly vectors?: { readonly state: CatalogColumn["state"]; readonly expr: Expr } | null;
  /** The previous index of the same declaration, which is used until this one is built. */
  readonly replaces?: number | null;
}

export interface EmbeddingOptions {
  readonly metric: VectorMetric;
  readonly precision: VectorPrecision;
  readonly dimensions: number;
  /** The hidden column that holds the vectors; null when the indexed column itself does. */
  readonly values: string | null;
  /** Makes vectors of values of other kinds than the column's, by kind; over a parameter. Null for none. */
  readonly embeds?: Readonly<Record<string, Expr>> | null;
}

export interface CatalogFunction {
  readonly id: string;
  readonly module: string;
  readonly name: string;
  readonly digest: string;
}
