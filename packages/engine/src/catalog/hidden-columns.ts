import type { ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import type { CatalogColumn, CatalogIndex, CatalogTable } from "./catalog.ts";
import { isSameExpr, isSameType } from "./compare.ts";
import { guardOf } from "./guards.ts";
import { isShadow } from "./shadow-columns.ts";

/**
 * Names the hidden columns of a declared table. A stored column with the same vectors gives its name: content
 * identifies these columns. New ones get an unused name.
 */
export function nameHidden(stored: CatalogTable, declared: ManifestTable): ManifestTable {
  const hidden = declared.columns.filter(isVectors);
  if (hidden.length === 0) return declared;
  const unused = new Set(stored.columns.filter((column) => isVectors(column) && !isShadow(column)));
  const names = new Map<string, string>();
  // Next the vectors of a view with another condition, which has the same ones for the rows that stay.
  for (const isSame of [isSameVectorColumn, isSameForMembers]) {
    for (const column of hidden.filter(({ name }) => !names.has(name))) {
      const same = [...unused].find((candidate) => isSame(candidate, column));
      if (same === undefined) continue;
      unused.delete(same);
      names.set(column.name, same.name);
    }
  }
  const usedNames = new Set([...stored.columns.map((column) => column.name), ...names.values()]);
  for (const { name } of hidden) {
    if (names.has(name)) continue;
    const own = freeName(name, usedNames);
    usedNames.add(own);
    names.set(name, own);
  }
  const nameOf = (name: string): string => names.get(name) ?? name;
  return {
    ...declared,
    columns: declared.columns.map((column) => (isVectors(column) ? { ...column, name: nameOf(column.name) } : column)),
    indexes: declared.indexes.map((index) =>
      index.kind === "embedding" && index.values !== null ? { ...index, values: nameOf(index.values) } : index,
    ),
  };
}

/** Columns of views are hidden too, but have names by which they are found. */
function isVectors({
  is_hidden: isHidden,
  computed,
  view,
}: Pick<ManifestColumn, "is_hidden" | "computed" | "view">): boolean {
  return isHidden === true && view === undefined && computed !== null;
}

/** Indexes that no file declares any more, and that are used until their replacement is built. */
export function retiredIndexes(indexes: readonly CatalogIndex[]): ReadonlySet<number> {
  return new Set(indexes.flatMap(({ replaces }) => (replaces == null ? [] : [replaces])));
}

/** Names of the hidden columns under some indexes. */
export function hiddenIn(indexes: readonly Pick<CatalogIndex, "embedding">[]): ReadonlySet<string> {
  return new Set(indexes.flatMap(({ embedding }) => (embedding?.values == null ? [] : [embedding.values])));
}

/** The embedding index whose vectors a column holds; undefined for a declared column. */
export function indexOfHiddenColumn(table: Pick<CatalogTable, "indexes">, column: string): CatalogIndex | undefined {
  return table.indexes.find(({ embedding }) => embedding?.values === column);
}

/** The name of a column for people. For a vector column these are its index and the column under it. */
export function shownColumn(table: Pick<CatalogTable, "indexes">, column: string): string {
  const index = indexOfHiddenColumn(table, column);
  if (index === undefined) return column;
  return `${index.columns.join(", ")} (embedding index${index.name === null ? "" : ` ${index.name}`})`;
}

function isSameVectorColumn(stored: CatalogColumn, declared: ManifestColumn): boolean {
  if (stored.computed === null || declared.computed === null) return false;
  return isSameExpr(stored.computed.expr, declared.computed.expr) && isSameType(stored.type, declared.type);
}

function isSameForMembers(stored: CatalogColumn, declared: ManifestColumn): boolean {
  if (stored.computed === null || declared.computed === null || !isSameType(stored.type, declared.type)) return false;
  const [before, now] = [guardOf(stored.computed.expr), guardOf(declared.computed.expr)];
  return before.member !== null && now.member !== null && isSameExpr(before.value, now.value);
}

function freeName(name: string, usedNames: ReadonlySet<string>): string {
  for (let number = 2, free = name; ; number++) {
    if (!usedNames.has(free)) return free;
    free = `${name}_${number}`;
  }
}
