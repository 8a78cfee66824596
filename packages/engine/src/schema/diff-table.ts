import type { ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import { changedQueries } from "../bound-queries/column-queries.ts";
import type { CatalogColumn, CatalogIndex, CatalogTable } from "../catalog/catalog.ts";
import { isSameExpr, isSameJson, isSameText, isSameType } from "../catalog/compare.ts";
import { hiddenIn, indexOfHiddenColumn, retiredIndexes } from "../catalog/hidden-columns.ts";
import {
  type ColumnChange,
  declaredIndexes,
  indexKey,
  type PlannedIndex,
  type SchemaOperation,
  type TableAttribute,
} from "../catalog/operations.ts";
import { withoutLost } from "../expressions/made-rows.ts";
import { hasSameStorage, NULL_CHECK, planTypeChange } from "./type-change.ts";

/** Columns whose definition stays. */
export interface UnchangedColumns {
  /** To recompute. */
  readonly recomputed: ReadonlySet<string>;
  /** Not declared, but of a view that the file does not declare. */
  readonly kept: ReadonlySet<string>;
}

const NONE_UNCHANGED: UnchangedColumns = { recomputed: new Set(), kept: new Set() };

/** The operations that change a table of the catalog to its declaration, in order. Pure. The declared order of
 *  columns, tables and indexes is ignored. */
export function diffTable(
  table: CatalogTable,
  to: ManifestTable,
  { recomputed, kept }: UnchangedColumns = NONE_UNCHANGED,
): readonly SchemaOperation[] {
  const { undone, dropped, replaced, altered, added, hidden } = diffIndexes(table, to);
  const declared = new Map(to.columns.map((column) => [column.name, column]));
  const stored = new Map(table.columns.map((column) => [column.name, column]));
  return [
    ...undone.map((index): SchemaOperation => ({ kind: "drop_index", severity: "additive", table, index })),
    ...dropped.map((index): SchemaOperation => ({ kind: "drop_index", severity: "destructive", table, index })),
    ...table.columns.flatMap((column): SchemaOperation[] =>
      declared.has(column.name) || hidden.has(column.name) || kept.has(column.name)
        ? []
        : [dropColumn(table, column, to)],
    ),
    ...to.columns.flatMap((column): SchemaOperation[] => {
      const before = stored.get(column.name);
      return before === undefined
        ? [addColumn(table, column)]
        : alterColumn(table, before, column, recomputed.has(column.name));
    }),
    ...replaced.map(([index, now]): SchemaOperation => {
      return { kind: "replace_index", severity: "additive", table, index, to: now };
    }),
    ...altered.map(([index, now]): SchemaOperation => {
      return { kind: "alter_index", severity: "additive", table, index, to: now };
    }),
    ...added.map((index): SchemaOperation => ({ kind: "add_index", severity: "additive", table, index })),
    ...alterTable(table, to),
  ];
}

interface IndexDiff {
  /** Unbuilt indexes that are no longer needed as replacements. */
  readonly undone: readonly CatalogIndex[];
  readonly dropped: readonly CatalogIndex[];
  readonly replaced: readonly (readonly [CatalogIndex, PlannedIndex])[];
  /** Indexes whose vectors stay. */
  readonly altered: readonly (readonly [CatalogIndex, PlannedIndex])[];
  readonly added: readonly PlannedIndex[];
  /** Hidden columns that stay because a remaining index uses them. */
  readonly hidden: ReadonlySet<string>;
}

const NO_EMBEDDING = { embeds: null };

/** A retired index stays until its replacement is built. */
function diffIndexes(table: CatalogTable, to: ManifestTable): IndexDiff {
  const retired = retiredIndexes(table.indexes);
  const existing = new Map(
    table.indexes.filter(({ id }) => !retired.has(id)).map((index) => [indexKey(index), index] as const),
  );
  const declared = new Map(declaredIndexes(to).map((index) => [indexKey(index), index]));
  const changed = [...declared].flatMap(([key, index]): (readonly [CatalogIndex, PlannedIndex])[] => {
    const before = existing.get(key);
    return before === undefined || isSameEmbedding(before, index) ? [] : [[before, index]];
  });
  const isUndone = ([{ replaces }, now]: (typeof changed)[number]): boolean =>
    table.indexes.some((previous) => previous.id === replaces && isSameEmbedding(previous, now));
  const undone = changed.filter(isUndone).map(([index]) => index);
  const kept = changed.filter((one) => !isUndone(one));
  const altered = kept.filter(([before, now]) => hasSameVectors(before, now));
  const replaced = kept.filter((one) => !altered.includes(one));
  const dropped = [...existing].flatMap(([key, index]) => (declared.has(key) ? [] : [index]));
  // In a chain of changes the first index is used until the last one is built.
  const ended = new Set([
    ...dropped.flatMap(({ id, replaces }) => [id, replaces ?? id]),
    ...undone.map(({ id }) => id),
    ...replaced.flatMap(([{ id, state }]) => (state === "building" ? [id] : [])),
  ]);
  return {
    undone,
    dropped: [...dropped, ...table.indexes.filter(({ id }) => retired.has(id) && ended.has(id))],
    replaced,
    altered,
    added: [...declared].flatMap(([key, index]) => (existing.has(key) ? [] : [index])),
    hidden: hiddenIn(table.indexes.filter(({ id }) => !ended.has(id))),
  };
}

function isSameEmbedding(a: PlannedIndex, b: PlannedIndex): boolean {
  return hasSameVectors(a, b) && isSameJson(a.embedding?.embeds, b.embedding?.embeds);
}

function hasSameVectors(a: PlannedIndex, b: PlannedIndex): boolean {
  const [{ embeds: _a, ...before }, { embeds: _b, ...now }] = [
    a.embedding ?? NO_EMBEDDING,
    b.embedding ?? NO_EMBEDDING,
  ];
  return isSameJson(before, now);
}

function dropColumn(table: CatalogTable, column: CatalogColumn, to: ManifestTable): SchemaOperation {
  const unstored = to.unstored?.some(({ name }) => name === column.name) ?? false;
  const operation = { kind: "drop_column", table, column, becomes_unstored: unstored } as const;
  if (column.is_hidden === true && indexOfHiddenColumn(table, column.name) !== undefined) {
    return { ...operation, severity: "additive" };
  }
  return { ...operation, severity: column.primary_key ? "unsupported" : "destructive" };
}

function addColumn(table: CatalogTable, to: ManifestColumn): SchemaOperation {
  const lacksValues = to.computed === null && !to.nullable && to.default == null && table.has_rows !== false;
  const cannot = to.primary_key || lacksValues;
  return { kind: "add_column", severity: cannot ? "unsupported" : "additive", table, to };
}

function alterColumn(
  table: CatalogTable,
  column: CatalogColumn,
  to: ManifestColumn,
  isRecomputed: boolean,
): SchemaOperation[] {
  const own = columnChanges(column, to);
  const changes: readonly ColumnChange[] = isRecomputed && !own.includes("value") ? [...own, "code"] : own;
  if (changes.length === 0) return [];
  const isRemade = column.computed !== null && to.computed !== null && !hasSameStorage(column.type, to.type);
  const type = to.computed === null ? planTypeChange(column.type, to.type, table.has_rows === false) : undefined;
  const isNarrowed = to.computed === null && !to.nullable && (column.nullable || column.computed !== null);
  const checks = [...(isNarrowed ? [NULL_CHECK] : []), ...(type?.checks ?? [])];
  const isImpossible = (to.computed === null && type === undefined) || isRefused(column, to, changes);
  return [
    {
      kind: "alter_column",
      severity: isImpossible ? "unsupported" : "additive",
      table,
      column,
      to,
      changes,
      using: type?.using ?? null,
      checks: isImpossible || table.has_rows === false ? [] : checks,
      schema: isImpossible || table.has_rows === false ? null : (type?.schema ?? null),
      is_remade: isRemade,
    },
  ];
}

/** What differs between a column and its declaration. */
export function columnChanges(
  column: Omit<CatalogColumn, "id" | "state">,
  to: ManifestColumn,
): readonly ColumnChange[] {
  const before = column.computed;
  const after = to.computed;
  const isOther =
    before !== null &&
    after !== null &&
    (!isSameExpr(withoutLost(before.expr, after.expr), after.expr) || changedQueries(before, after).length > 0);
  const changes: readonly [ColumnChange, boolean][] = [
    ["type", !isSameType(column.type, to.type)],
    ["media_validation", column.type.validation !== to.type.validation],
    ["nullability", column.nullable !== to.nullable],
    ["primary_key", column.primary_key !== to.primary_key],
    ["stored_or_computed", (before === null) !== (after === null)],
    ["value", isOther],
    ["stale", column.stale === true && !isOther],
    ["default", !isSameDefault(column.default, to.default)],
    ["comment", !isSameText(column.comment, to.comment)],
    ["custom_metadata", !isSameJson(column.custom_metadata, to.custom_metadata)],
  ];
  return changes.flatMap(([change, differs]) => (differs ? [change] : []));
}

function isSameDefault(a: ManifestColumn["default"], b: ManifestColumn["default"]): boolean {
  if (a == null || b == null) return (a ?? null) === (b ?? null);
  return isSameExpr(a.expr, b.expr);
}

function isRefused(column: CatalogColumn, to: ManifestColumn, changes: readonly ColumnChange[]): boolean {
  if (changes.includes("primary_key")) return true;
  // An expression would overwrite values that people entered.
  if (changes.includes("stored_or_computed") && to.computed !== null) return true;
  // A key's value identifies a row; a new value would change the identity.
  const touchesKey = ["type", "value", "code", "nullability", "stored_or_computed"] as const;
  return (column.primary_key || to.primary_key) && touchesKey.some((change) => changes.includes(change));
}

function alterTable(table: CatalogTable, to: ManifestTable): SchemaOperation[] {
  const all: readonly [TableAttribute, boolean][] = [
    ["primary_key", !isSameJson(table.primary_key, to.primary_key)],
    ["has_default_idxs", table.has_default_idxs !== to.has_default_idxs],
    ["comment", !isSameText(table.comment, to.comment)],
    ["custom_metadata", !isSameJson(table.custom_metadata, to.custom_metadata)],
  ];
  const changes = all.flatMap(([change, differs]) => (differs ? [change] : []));
  if (changes.length === 0) return [];
  return [
    { kind: "alter_table", severity: changes.includes("primary_key") ? "unsupported" : "additive", table, to, changes },
  ];
}
