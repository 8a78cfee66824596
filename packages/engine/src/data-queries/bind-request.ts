import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { ManifestQuery } from "@appdb/contract/manifest";
import { findNameProblem } from "@appdb/contract/names";
import { nearestName } from "@appdb/contract/nearest";
import type { Query } from "@appdb/contract/query";
import { displayType } from "@appdb/contract/types";
import { expressionsOf } from "../bound-queries/bind-query.ts";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { isSameType } from "../catalog/compare.ts";
import { columnLabel } from "../catalog/sql-names.ts";
import { visit } from "../expressions/tree.ts";
import { INT_TYPE } from "../kinds/kinds.ts";
import { findLiteralProblem, type TypedLiteral } from "../kinds/values.ts";
import { lowerQuery } from "../views/lower-queries.ts";
import { type ReadColumn, type ReadSource, readSources } from "./read-sources.ts";

/** A query of a request over tables of the catalog, in the form of an application's queries. */
export interface RequestQuery {
  readonly named: ManifestQuery;
  findTable(path: string): CatalogTable;
}

/** Its name in messages: "The query of the request exceeded ...". */
export const REQUEST_QUERY = "of the request";

/**
 * Binds a query to the tables and views of a catalog. Clients write types into a tree, and SQL relies on them: a type
 * other than the catalog's is refused.
 * @throws table_not_found, column_not_found; schema_changed for a column of another type; invalid_request
 */
export function bindRequest(catalog: Catalog, query: Query): RequestQuery {
  const sources = readSources(catalog);
  const byAlias = new Map<string, ReadSource>();
  for (const ref of [query.from, ...query.joins]) {
    if (ref.member !== undefined || ("is_within" in ref && ref.is_within !== undefined)) {
      throw refuse("member and is_within are set by the server alone.", "Leave them out.");
    }
    if (findNameProblem("table", ref.as) !== undefined) {
      throw refuse(`${JSON.stringify(ref.as.slice(0, 100))} cannot be the name of a table in a query.`, ALIASES);
    }
    if (byAlias.has(ref.as)) throw refuse(`Two tables of the query have the name ${ref.as}.`, ALIASES);
    byAlias.set(ref.as, findSource(sources, ref.table));
  }
  for (const expr of expressionsOf(query)) visit(expr, (node) => checkNode(node, query.from.as, byAlias));
  for (const [clause, expr] of Object.entries({ limit: query.limit, offset: query.offset, tail: query.tail })) {
    if (expr === null) continue;
    if (expr.node === "literal" && isSameType(expr.type, INT_TYPE) && /^\d{1,15}$/.test(String(expr.value))) continue;
    throw refuse(`${clause} is not a literal Int of 0 or more.`, "Send a number of rows.");
  }
  const views = new Map([...sources].flatMap(([path, { view }]) => (view === null ? [] : [[path, view] as const])));
  return {
    named: lowerQuery(namedQuery(query), views),
    findTable(path) {
      const found = sources.get(path);
      if (found === undefined) throw new TypeError(`The query reads ${path}, which the catalog lacks.`);
      return found.table;
    },
  };
}

const ALIASES = "Name each table by a letter (a-z) first, then letters, digits and '_', and each name once.";

function namedQuery(query: Query): ManifestQuery {
  const source = { file: "", line: 0 };
  const name = REQUEST_QUERY;
  return { id: name, module: "", name, comment: null, parameters: [], return_scalar: false, query, source };
}

function findSource(sources: ReadonlyMap<string, ReadSource>, path: string): ReadSource {
  const found = sources.get(path);
  if (found !== undefined) return found;
  const nearest = nearestName(path, sources.keys());
  throw appError("table_not_found", {
    detail: `Table ${path.slice(0, 200)} does not exist.`,
    hint:
      nearest === undefined
        ? "Create it first: cli schema update <file> <target>"
        : `Did you mean ${nearest}? Tables are named by their path within the database.`,
    meta: { table: path.slice(0, 200) },
  });
}

function checkNode(node: Expr, first: string, byAlias: ReadonlyMap<string, ReadSource>): void {
  if (node.node === "parameter" || node.node === "query") {
    throw refuse(
      `The query of a request has no ${node.node === "query" ? "queries of an application" : "parameters"}.`,
      "Write the value as a literal.",
    );
  }
  if (node.node === "literal") checkLiteral(node);
  if (node.node !== "column" && node.node !== "cell_error" && node.node !== "similarity") return;
  const alias = node.of ?? first;
  const source = byAlias.get(alias);
  if (source === undefined) {
    throw refuse(
      `The query reads ${alias.slice(0, 100)}, which is none of its tables.`,
      `It has: ${[...byAlias.keys()].join(", ")}.`,
    );
  }
  const name = node.node === "column" ? node.name : node.column;
  const column = source.columns.get(name);
  if (column === undefined) throw columnNotFound(source, name);
  if (node.node === "column") checkType(node, source, column);
}

/** @throws invalid_request */
function checkLiteral(node: TypedLiteral): void {
  const problem = findLiteralProblem(node);
  if (problem === undefined) return;
  throw refuse(`A literal of the query is not of its type. ${problem}`, "Write the literal in the form of its type.");
}

function columnNotFound({ path, columns }: ReadSource, name: string): Error {
  const shown = name.slice(0, 200);
  const nearest = nearestName(shown, columns.keys());
  const known = [...columns.keys()];
  return appError("column_not_found", {
    detail: `${path} has no column ${shown}.`,
    hint: nearest === undefined ? `Its columns: ${known.slice(0, 50).join(", ")}` : `Did you mean ${nearest}?`,
    meta: { table: path, column: shown },
  });
}

/** A computed column has null where it failed, whatever its type says. */
function checkType(node: Extract<Expr, { node: "column" }>, { path }: ReadSource, { column }: ReadColumn): void {
  const isNullable = column.computed !== null || node.nullable || !column.nullable;
  if (isSameType(node.type, column.type) && isNullable) return;
  const known = displayType(node.type, node.nullable);
  throw appError("schema_changed", {
    detail: `${columnLabel(path, node.name)} is ${displayType(column.type, column.nullable)}, and the query reads it as ${known}.`,
    hint: "Load the table again, then repeat the query.",
    meta: { table: path, column: node.name },
  });
}

function refuse(detail: string, hint: string): Error {
  return appError("invalid_request", { detail, hint, errors: [{ pointer: "/query", detail }] });
}
