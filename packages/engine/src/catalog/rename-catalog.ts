import type { Expr } from "@appdb/contract/expressions";
import type { ManifestTable } from "@appdb/contract/manifest";
import { mapParts } from "../expressions/tree.ts";
import type { CatalogColumn, CatalogTable, ViewDefinition } from "./catalog.ts";
import { isSameExpr } from "./compare.ts";
import { matchNames } from "./match-names.ts";
import { indexName } from "./sql-names.ts";

/** A table with its new name, before any other change. */
export interface RenamedTable {
  /** With its new names everywhere: columns, key, identity, indexes, expressions. */
  readonly table: CatalogTable;
  readonly from: string | null;
  readonly columns: readonly { readonly id: number; readonly from: string; readonly to: string }[];
  /** Previous names of renamed indexes, by their ids. */
  readonly indexes: ReadonlyMap<number, string>;
  readonly refusals: readonly { readonly name: string; readonly reason: string }[];
}

/** Renames a stored table as declared. Pure. References to renamed columns follow. */
export function renameCatalogTable(before: CatalogTable, to: ManifestTable, from: string | null): RenamedTable {
  const matches = matchNames(before.columns, to.columns);
  const columns = matches.flatMap((match) =>
    match.from === null || match.stored === undefined
      ? []
      : [{ id: match.stored.id, from: match.from, to: match.declared.name }],
  );
  const refusals = matches.flatMap(({ declared, refusal }) =>
    refusal === null ? [] : [{ name: declared.name, reason: refusal }],
  );
  const indexes = renamedIndexes(before, to);
  const isSame = from === null && columns.length === 0 && indexes.size === 0;
  const table = isSame ? before : withNames(before, to, new Map(columns.map((column) => [column.from, column.to])));
  return { table, from, columns, indexes, refusals };
}

/** An index has a new name if the view that it belongs to has one. After a swap of two names both exist. */
function renamedIndexes({ indexes }: CatalogTable, to: ManifestTable): ReadonlyMap<number, string> {
  const taken = new Set(indexes.map(({ name }) => name));
  return new Map(
    indexes.flatMap((index) => (taken.has(renamedIndex(index, to)) ? [] : [[index.id, index.name ?? ""]])),
  );
}

function renamedIndex({ name }: Pick<CatalogTable["indexes"][number], "name">, { indexes }: ManifestTable) {
  const renamed = indexes.find(({ renamed_from: was }) => was !== undefined && was === name);
  return renamed?.name ?? name;
}

/** A view's definition over columns under their new names. */
export function renameInDefinition(definition: ViewDefinition, names: ReadonlyMap<string, string>): ViewDefinition {
  const { member, columns } = definition;
  return {
    ...definition,
    member: member === null ? null : renameInExpr(member, names),
    columns: columns.map((one) =>
      one.up === undefined ? { ...one, column: names.get(one.column) ?? one.column } : one,
    ),
  };
}

/** An expression that reads columns under their new names. */
export function renameInExpr(expr: Expr, names: ReadonlyMap<string, string>): Expr {
  const renamed = mapParts(expr, (part) => renameInExpr(part, names));
  // `of` is another table's column, in a query.
  if (renamed.node === "column" && renamed.of === undefined) {
    return { ...renamed, name: names.get(renamed.name) ?? renamed.name };
  }
  if (renamed.node === "cell_error" && renamed.of === undefined) {
    return { ...renamed, column: names.get(renamed.column) ?? renamed.column };
  }
  return renamed;
}

function withNames(before: CatalogTable, to: ManifestTable, names: ReadonlyMap<string, string>): CatalogTable {
  const nameOf = (name: string): string => names.get(name) ?? name;
  return {
    ...before,
    name: to.name,
    model: to.model,
    primary_key: before.primary_key.map(nameOf),
    identity: nameOf(before.identity),
    columns: before.columns.map((column) => ({
      ...column,
      name: nameOf(column.name),
      computed: renamedComputed({ ...column, name: nameOf(column.name) }, to, names),
    })),
    indexes: before.indexes.map((index) => {
      const columns = index.columns.map(nameOf);
      const name = renamedIndex(index, to);
      const { embedding } = index;
      const values = embedding?.values ?? null;
      const now = {
        ...index,
        name,
        columns,
        ...(embedding == null || values === null ? {} : { embedding: { ...embedding, values: nameOf(values) } }),
      };
      return { ...now, sql_name: indexName(to.name, now) };
    }),
  };
}

/** Takes over the declared text along with the names. Otherwise a plan would keep showing the previous ones. */
function renamedComputed(
  column: CatalogColumn,
  to: ManifestTable,
  names: ReadonlyMap<string, string>,
): CatalogColumn["computed"] {
  if (column.computed === null) return null;
  const expr = renameInExpr(column.computed.expr, names);
  const declared = to.columns.find((candidate) => candidate.name === column.name)?.computed;
  // Queries stay the same. A query that reads a renamed object has another definition, so its column is recomputed.
  return declared != null && isSameExpr(declared.expr, expr)
    ? { ...column.computed, text: declared.text, expr: declared.expr }
    : { ...column.computed, expr };
}
