import type { Expr } from "@appdb/contract/expressions";
import type { Manifest, ManifestColumn, ManifestQuery } from "@appdb/contract/manifest";
import type { CatalogColumn } from "../catalog/catalog.ts";
import { canonicalJson, normalizeExpr } from "../catalog/compare.ts";
import { udfsOf } from "../expressions/needs-python.ts";
import { visit } from "../expressions/tree.ts";
import { expressionsOf, mapExpressions } from "./bind-query.ts";

type Computed = NonNullable<CatalogColumn["computed"]>;

/**
 * The manifest with the queries of its computed columns included, as the catalog stores them. A job can compute a
 * column long after its file was read. Columns without queries stay the same.
 */
export function withQueries(manifest: Manifest): Manifest {
  if (manifest.queries.length === 0) return manifest;
  return {
    ...manifest,
    tables: manifest.tables.map((table) => ({
      ...table,
      columns: table.columns.map((column) => ({ ...column, computed: computedWithQueries(manifest, column) })),
    })),
  };
}

/** The computation of a column, with the queries that it uses directly and indirectly. */
export function computedWithQueries(
  { queries }: Pick<Manifest, "queries">,
  { computed }: Pick<ManifestColumn, "computed">,
): CatalogColumn["computed"] {
  if (computed === null || queries.length === 0) return computed;
  const found = new Map<string, ManifestQuery>();
  const add = (exprs: readonly Expr[]): void => {
    for (const id of exprs.flatMap(queriesOf)) {
      const query = queries.find((candidate) => candidate.id === id);
      if (query === undefined || found.has(id)) continue;
      found.set(id, query);
      add(expressionsOf(query.query));
    }
  };
  add([computed.expr]);
  return found.size === 0 ? computed : { ...computed, queries: [...found.values()] };
}

/** Ids of the distinct queries in an expression. */
export function queriesOf(expr: Expr): string[] {
  const ids = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "query") ids.add(node.query);
  });
  return [...ids];
}

/** Ids of the application functions behind a column's values, in its expression and its queries. */
export function functionsReadBy({ expr, queries = [] }: Computed): string[] {
  const ids = new Set(udfsOf(expr));
  for (const inner of queries.flatMap(({ query }) => expressionsOf(query))) {
    visit(inner, (node) => {
      if (node.node === "udf") ids.add(node.function);
      if ((node.node === "aggregate" || node.node === "window") && node.is_udf) ids.add(node.fn);
    });
  }
  return [...ids];
}

/** Names of the queries with a changed definition. A name, a comment or a position in the file does not count. */
export function changedQueries(before: Computed, after: Computed): string[] {
  const known = new Map((before.queries ?? []).map((query) => [query.id, query]));
  return (after.queries ?? []).flatMap((query) => {
    const previous = known.get(query.id);
    return previous !== undefined && definitionOf(previous) === definitionOf(query) ? [] : [query.name];
  });
}

function definitionOf({ parameters, return_scalar: returnScalar, query }: ManifestQuery): string {
  return canonicalJson({
    parameters,
    return_scalar: returnScalar,
    query: mapExpressions(query, (expr) => normalizeExpr(expr) as Expr),
  });
}
