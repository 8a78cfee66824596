import type { Expr } from "@appdb/contract/expressions";
import type { ManifestParameter, ManifestQuery } from "@appdb/contract/manifest";
import type { Query } from "@appdb/contract/query";
import type { ColumnType } from "@appdb/contract/types";
import type { CatalogTable } from "../catalog/catalog.ts";
import { mapParts, visit } from "../expressions/tree.ts";
import type { AskedSimilarity, Similarity } from "./similarities.ts";

/**
 * A query bound to the current tables. Its expressions are flat: every row value is a `column` node named by its
 * source. For example `docs.title` is a column and `docs.title!type` is a cell's error. SQL and Python can so be
 * compiled as if for one row.
 */
export interface BoundQuery {
  readonly id: string;
  readonly name: string;
  readonly tables: readonly BoundTable[];
  readonly parameters: readonly ManifestParameter[];
  readonly return_scalar: boolean;
  /** As in the manifest, but flat. */
  readonly query: Query;
  /** The similarities that it computes; a column of their name stands for each. */
  readonly asked: readonly AskedSimilarity[];
  /** The same with their indexes, when the query is planned. */
  readonly similarities: readonly Similarity[];
}

export interface BoundTable {
  readonly alias: string;
  /** The columns as the application declares them, with the ids from the catalog. */
  readonly table: CatalogTable;
  /** Names of the columns that the query reads. */
  readonly reads: ReadonlySet<string>;
  /** An outer join may have no row of it. */
  readonly may_lack: boolean;
}

export interface CellErrorName {
  readonly column: string;
  readonly part: "type" | "message";
}

const PARAMETER = "$";

/** Python only knows rows, so the parameters of a query become columns. */
export function parametersAsColumns(expr: Expr): Expr {
  if (expr.node !== "parameter") return mapParts(expr, parametersAsColumns);
  return { node: "column", name: `${PARAMETER}${expr.name}`, type: expr.type, nullable: expr.nullable };
}

/** The parameter behind a column of a Python graph; undefined for row values. */
export function parameterOf(flat: string): string | undefined {
  return flat.startsWith(PARAMETER) ? flat.slice(PARAMETER.length) : undefined;
}

/** Binds a named query to its tables. `findTable` returns a table of the manifest by name. */
export function bindQuery(named: ManifestQuery, findTable: (name: string) => CatalogTable): BoundQuery {
  const similarities = similaritiesIn(named.query);
  const query = flatQuery(named.query, similarities);
  const reads = readsByAlias(named.query);
  const nullable = aliasesThatMayLack(named.query);
  const tables = [named.query.from, ...named.query.joins].map(
    (ref): BoundTable => ({
      alias: ref.as,
      table: findTable(ref.table),
      reads: reads.get(ref.as) ?? new Set(),
      may_lack: nullable.has(ref.as),
    }),
  );
  const { id, name, parameters, return_scalar: returnScalar } = named;
  return {
    id,
    name,
    tables,
    parameters,
    return_scalar: returnScalar,
    query,
    asked: [...similarities.values()],
    similarities: [],
  };
}

/** The similarities of a query, by their nodes as written. */
function similaritiesIn(query: Query): ReadonlyMap<string, AskedSimilarity> {
  const found = new Map<string, AskedSimilarity>();
  for (const expr of expressionsOf(query)) {
    visit(expr, (node) => {
      if (node.node !== "similarity" || found.has(expressionKey(node))) return;
      const { column, index, metric, value, of: alias = query.from.as } = node;
      // No column name contains this sign.
      found.set(expressionKey(node), { name: `${alias}.~${found.size}`, alias, column, index, metric, value });
    });
  }
  return found;
}

/** A descending sort by distance has the nearest rows first, as with any similarity. */
function flatQuery(query: Query, similarities: ReadonlyMap<string, AskedSimilarity>): Query {
  const isDistance = (expr: Expr): boolean => expr.node === "similarity" && expr.metric === "l2";
  const flat = mapExpressions(query, (expr) => flatten(expr, similarities));
  const orderBy = flat.order_by.map(({ expr, asc }, at) => {
    const before = query.order_by[at]?.expr;
    return { expr, asc: before !== undefined && isDistance(before) ? !asc : asc };
  });
  return { ...flat, order_by: orderBy };
}

/** Every distinct expression of a query. */
export function expressionsOf(query: Query): Expr[] {
  const found: Expr[] = [...query.group_by];
  for (const { member } of [query.from, ...query.joins]) if (member !== undefined) found.push(member);
  for (const { on } of query.joins) if (on !== null) found.push(on);
  if (query.where !== null) found.push(query.where);
  for (const { expr } of [...query.select, ...query.order_by]) found.push(expr);
  for (const bound of [query.limit, query.offset, query.tail]) if (bound !== null) found.push(bound);
  return found;
}

/** A column node for a value made elsewhere: an aggregate, a group key, or a Python result. */
export function referenceNode(name: string, expr: Expr): Expr {
  return { node: "column", name, type: expr.type, nullable: true };
}

/** Two expressions are equal if they are written in the same way. */
export function expressionKey(expr: Expr): string {
  return JSON.stringify(expr);
}

function flatten(expr: Expr, similarities: ReadonlyMap<string, AskedSimilarity>): Expr {
  const { nullable } = expr;
  switch (expr.node) {
    case "similarity":
      return {
        node: "column",
        name: similarities.get(expressionKey(expr))?.name ?? "",
        type: expr.type,
        nullable: true,
      };
    case "column":
      return { node: "column", name: `${expr.of}.${expr.name}`, type: expr.type, nullable };
    case "cell_error":
      return { node: "column", name: `${expr.of}.${expr.column}!${expr.part}`, type: expr.type, nullable };
    default:
      return mapParts(expr, (part) => flatten(part, similarities));
  }
}

/** The query with each of its expressions replaced. */
export function mapExpressions(query: Query, change: (expr: Expr) => Expr): Query {
  const orNull = (expr: Expr | null) => (expr === null ? null : change(expr));
  return {
    ...query,
    from: ofMembers(query.from, change),
    joins: query.joins.map((join) => ({ ...ofMembers(join, change), on: orNull(join.on) })),
    where: orNull(query.where),
    group_by: query.group_by.map(change),
    select: query.select.map(({ name, expr }) => ({ name, expr: change(expr) })),
    order_by: query.order_by.map(({ expr, asc }) => ({ expr: change(expr), asc })),
    limit: orNull(query.limit),
    offset: orNull(query.offset),
    tail: orNull(query.tail),
  };
}

function ofMembers<Ref extends Query["from"]>(ref: Ref, change: (expr: Expr) => Expr): Ref {
  return ref.member === undefined ? ref : { ...ref, member: change(ref.member) };
}

function readsByAlias(query: Query): Map<string, Set<string>> {
  const reads = new Map<string, Set<string>>();
  for (const expr of expressionsOf(query)) {
    visit(expr, (node) => {
      if (node.node !== "column" && node.node !== "cell_error" && node.node !== "similarity") return;
      const name = node.node === "column" ? node.name : node.column;
      const alias = node.of ?? query.from.as;
      reads.set(alias, (reads.get(alias) ?? new Set()).add(name));
    });
  }
  return reads;
}

/** A left join may have no row of its table, a right join none of all earlier tables, a full join both. */
function aliasesThatMayLack(query: Query): Set<string> {
  const nullable = new Set<string>();
  const before = [query.from.as];
  for (const { kind, as } of query.joins) {
    if (kind === "left" || kind === "full") nullable.add(as);
    if (kind === "right" || kind === "full") for (const alias of before) nullable.add(alias);
    before.push(as);
  }
  return nullable;
}

/** The distinct flat names that expressions read. */
export function flatNames(exprs: readonly Expr[]): string[] {
  const names = new Set<string>();
  for (const expr of exprs) {
    visit(expr, (node) => {
      if (node.node === "column") names.add(node.name);
    });
  }
  return [...names];
}

/** The types of all flat names of a query. */
export function flatTypes(bound: BoundQuery): Map<string, ColumnType> {
  const types = new Map<string, ColumnType>();
  for (const expr of expressionsOf(bound.query)) {
    visit(expr, (node) => {
      if (node.node === "column") types.set(node.name, node.type);
    });
  }
  return types;
}

/** The columns that an expression reads, with types and repetitions. */
export function typesIn(expr: Expr): [string, ColumnType][] {
  const found: [string, ColumnType][] = [];
  visit(expr, (node) => {
    if (node.node === "column") found.push([node.name, node.type]);
  });
  return found;
}
