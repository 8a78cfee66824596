import type { ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import { kindOf } from "../kinds/kinds.ts";
import type { Check } from "../kinds/type-change.ts";
import type { CatalogColumn, CatalogIndex, CatalogTable, EmbeddingOptions } from "./catalog.ts";

/** The operations of an update on the tables, in order. Each has a severity. */
export type OperationSeverity = "additive" | "destructive" | "unsupported";

export interface PlannedIndex {
  readonly kind: "btree" | "embedding";
  readonly name: string | null;
  readonly columns: readonly string[];
  readonly embedding?: EmbeddingOptions | null;
}

/** The difference between a stored column and its declaration. */
export type ColumnChange =
  | "type"
  | "media_validation"
  | "nullability"
  | "primary_key"
  | "stored_or_computed"
  | "value"
  | "stale"
  | "code"
  | "default"
  | "comment"
  | "custom_metadata";

export type TableAttribute = "primary_key" | "has_default_idxs" | "comment" | "custom_metadata";

/** `table` always has the names after the update. Objects with another name until then have `from`. */
export type SchemaOperation = { readonly severity: OperationSeverity } & (
  | { readonly kind: "create_table"; readonly to: ManifestTable; readonly indexes: readonly PlannedIndex[] }
  | { readonly kind: "rename_table"; readonly table: CatalogTable; readonly from: string }
  | {
      readonly kind: "rename_column";
      readonly table: CatalogTable;
      readonly column: CatalogColumn;
      readonly from: string;
    }
  /** The index of a view that has another name now. */
  | {
      readonly kind: "rename_index";
      readonly table: CatalogTable;
      readonly index: CatalogIndex;
      readonly from: string;
    }
  /** A declared rename that is impossible; of the table itself when `name` is null. */
  | {
      readonly kind: "refuse_rename";
      readonly table: CatalogTable;
      readonly name: string | null;
      readonly from: string;
      readonly reason: string;
    }
  | { readonly kind: "drop_index"; readonly table: CatalogTable; readonly index: CatalogIndex }
  | {
      readonly kind: "drop_column";
      readonly table: CatalogTable;
      readonly column: CatalogColumn;
      /** The application still declares it, as a column that is computed when it is read. */
      readonly becomes_unstored: boolean;
      /** What reads it, of undeclared views. Then it cannot be dropped. */
      readonly read_by?: readonly string[];
      /** What reads it is declared, and no longer reads it when the job of the update has ended. */
      readonly is_read_until_filled?: boolean;
    }
  | { readonly kind: "add_column"; readonly table: CatalogTable; readonly to: ManifestColumn }
  | {
      readonly kind: "alter_column";
      readonly table: CatalogTable;
      readonly column: CatalogColumn;
      readonly to: ManifestColumn;
      readonly changes: readonly ColumnChange[];
      /** Converts the values of a stored column to another type; over `$value`. */
      readonly using: string | null;
      /** Conditions to check on its values before the change, and again during it. */
      readonly checks: readonly Check[];
      /** A JSON Schema that the values must match from now on; checked likewise. */
      readonly schema: Readonly<Record<string, unknown>> | null;
      /** The values of a computed column cannot be converted, so it is recreated and filled. */
      readonly is_remade: boolean;
    }
  | { readonly kind: "add_index"; readonly table: CatalogTable; readonly index: PlannedIndex }
  /** The new index is built first; then the old one is dropped. */
  | {
      readonly kind: "replace_index";
      readonly table: CatalogTable;
      readonly index: CatalogIndex;
      readonly to: PlannedIndex;
    }
  /** Other functions for values of other kinds: the vectors of rows stay. */
  | {
      readonly kind: "alter_index";
      readonly table: CatalogTable;
      readonly index: CatalogIndex;
      readonly to: PlannedIndex;
    }
  | {
      readonly kind: "alter_table";
      readonly table: CatalogTable;
      readonly to: ManifestTable;
      readonly changes: readonly TableAttribute[];
    }
);

/** The indexes of a declaration: its own, and with `has_default_idxs` one per indexable column. */
export function declaredIndexes(table: ManifestTable): readonly PlannedIndex[] {
  const declared = table.indexes.map((index): PlannedIndex => {
    const { kind, name, columns } = index;
    if (index.kind === "btree") return { kind, name, columns };
    const { metric, precision, dimensions, values, embeds } = index;
    return { kind, name, columns, embedding: { metric, precision, dimensions, values, embeds: embeds ?? null } };
  });
  const defaults = table.has_default_idxs
    ? table.columns
        .filter((column) => isIndexable(column) && !isOwnKey(table, column))
        .map((column): PlannedIndex => ({ kind: "btree", name: null, columns: [column.name] }))
    : [];
  const byKey = new Map([...defaults, ...declared].map((index) => [indexKey(index), index]));
  return [...byKey.values()];
}

/** Same key, same index: its name, or the columns of an unnamed one. */
export function indexKey(index: PlannedIndex): string {
  return JSON.stringify([index.kind, index.name, index.columns]);
}

/** The columns of the index in PostgreSQL. */
export function columnsIn(index: PlannedIndex): readonly string[] {
  const values = index.embedding?.values;
  return values == null ? index.columns : [values];
}

export function isIndexable(column: ManifestColumn): boolean {
  return kindOf(column.type).index !== null;
}

/** A single key column that is not a text already has its own B-tree. Text keys are indexed by their hash. */
function isOwnKey(table: ManifestTable, column: ManifestColumn): boolean {
  return table.primary_key.length === 1 && column.primary_key && kindOf(column.type).index === "value";
}

/** The name of the identity column: a single uuid7() key column, otherwise `_row`. */
export function identityOf(table: ManifestTable): string {
  const [only, ...more] = table.columns.filter((column) => column.primary_key);
  const expr = only?.computed?.expr;
  const isUuid7 = expr?.node === "call" && expr.fn === "uuid.uuid7";
  return only !== undefined && more.length === 0 && isUuid7 ? only.name : "_row";
}
