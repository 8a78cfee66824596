import { appError } from "@appdb/contract/errors";
import type { Expr, VectorMetric } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import type { CatalogIndex } from "../catalog/catalog.ts";
import { vectorOf } from "../catalog/ddl.ts";
import { guardOf } from "../catalog/guards.ts";
import { columnPath } from "../catalog/sql-names.ts";
import { mapParts } from "../expressions/tree.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { ParameterList } from "../kinds/parameter-list.ts";
import { quoteIdent } from "../sql/quote.ts";
import type { BoundTable } from "./bind-query.ts";

/** A `similarity` node of a query. A column with the flat name `name` replaces it in the query's expressions. */
export interface AskedSimilarity {
  readonly name: string;
  readonly alias: string;
  readonly column: string;
  readonly index: string | null;
  readonly metric: VectorMetric;
  /** Flat; uses only parameters and constants. */
  readonly value: Expr;
}

/** The same with the current index whose vectors are compared. */
export interface Similarity extends AskedSimilarity {
  /** Null while no index is available; `missing` has the error for callers. */
  readonly over: CatalogIndex | null;
  readonly missing: Error | null;
  /** Makes the vector of `value`. Its type is an array, or Json for a list in a request. */
  readonly vector: Expr;
  readonly dimensions: number;
  /** The name of the index for people. */
  readonly label: string;
}

/** pgvector's operators, and the result for users: 1 for the same direction, the inner product, or the distance. */
const METRICS = {
  cosine: { operator: "<=>", value: (distance: string) => `nullif(1 - (${distance}), 'NaN')` },
  ip: { operator: "<#>", value: (distance: string) => `(- (${distance}))` },
  l2: { operator: "<->", value: (distance: string) => `(${distance})` },
} as const satisfies Record<VectorMetric, { operator: string; value: (distance: string) => string }>;

/** Finds the index of a similarity. While a changed index is built, the previous one is used with its own function. */
export function resolveSimilarity(similarity: AskedSimilarity, tables: readonly BoundTable[]): Similarity {
  const table = tables.find(({ alias }) => alias === similarity.alias)?.table;
  const label = `${columnPath(table?.name ?? "", similarity.column)}${similarity.index === null ? "" : ` ('${similarity.index}')`}`;
  const found = (table?.indexes ?? []).filter(
    ({ kind, name, columns }) => kind === "embedding" && name === similarity.index && columns[0] === similarity.column,
  );
  const usable = found.filter(
    (index) =>
      (index.vectors == null || index.vectors.state === "ready") && vectorExpr(similarity, index) !== undefined,
  );
  const worth = (index: CatalogIndex): number =>
    (index.embedding?.metric === similarity.metric ? 2 : 0) + (index.state === "ready" ? 1 : 0);
  const [over] = usable.sort((a, b) => worth(b) - worth(a) || b.id - a.id);
  const vector = over === undefined ? undefined : vectorExpr(similarity, over);
  if (over?.embedding == null || vector === undefined) {
    return {
      ...similarity,
      over: null,
      missing: notThere(label, found.length > 0),
      vector: similarity.value,
      dimensions: 0,
      label,
    };
  }
  const { dimensions } = over.embedding;
  return { ...similarity, over, missing: null, vector, dimensions, label };
}

/** SQL of the distance from a row's vector to the requested one. */
export function distanceSql(of: Similarity, parameters: ParameterList): string {
  if (of.over === null) return "null::float8";
  const { operator } = METRICS[of.metric];
  const { precision = "fp16" } = of.over.embedding ?? {};
  const argument = parameters.vector(of.name, precision, of.dimensions);
  return `${rowVector(of)} operator(appdb.${operator}) ${argument}`;
}

/** SQL of the number for users. Null for a row without a vector, and for vectors without a direction. */
export function similaritySql(of: Similarity, parameters: ParameterList): string {
  return METRICS[of.metric].value(distanceSql(of, parameters));
}

/** SQL of whether a row has a vector. */
export function hasVectorSql({ over, alias }: Similarity): string {
  if (over === null) return "false";
  return `${quoteIdent(alias)}.${quoteIdent(over.embedding?.values ?? over.columns[0] ?? "")} is not null`;
}

/** SQL of a row's vector, in the form of its index. */
function rowVector({ over, alias }: Similarity): string {
  if (over === null) return "null";
  const sql = vectorOf(over, `${quoteIdent(alias)}.`);
  return over.embedding?.values == null ? `(${sql})` : sql;
}

/** Whether an order has the nearest rows first: a great similarity is a small distance. */
export function isNearestFirst({ metric }: AskedSimilarity, asc: boolean): boolean {
  return metric === "l2" ? asc : !asc;
}

/**
 * The index's function applied to the requested value instead of its column, or the one for values of this kind. A vector
 * stays the same. Undefined for a previous index without a function for the kind.
 */
function vectorExpr({ value }: AskedSimilarity, { columns, vectors, embedding }: CatalogIndex): Expr | undefined {
  const [column] = columns;
  const { kind, dtype } = value.type;
  // Of a view: the vector of any value, without the condition of its rows.
  const ofColumn = vectors == null ? undefined : guardOf(vectors.expr).value;
  if (ofColumn !== undefined && dtype === undefined && kindIn(ofColumn, column) === kind)
    return withValue(ofColumn, (node) => node.node === "column" && node.name === column, value);
  const embed = embedding?.embeds?.[kind];
  if (embed !== undefined) return withValue(embed, (node) => node.node === "parameter", value);
  return kindOf(value.type).isVector ? value : undefined;
}

function kindIn(expr: Expr, column: string | undefined): ColumnType["kind"] | undefined {
  let kind: ColumnType["kind"] | undefined;
  const look = (node: Expr): Expr => {
    if (node.node === "column" && node.name === column) kind = node.type.kind;
    return mapParts(node, look);
  };
  look(expr);
  return kind;
}

function withValue(expr: Expr, isPlace: (node: Expr) => boolean, value: Expr): Expr {
  return isPlace(expr) ? value : mapParts(expr, (part) => withValue(part, isPlace, value));
}

function notThere(label: string, isComing: boolean): Error {
  return appError("schema_changed", {
    detail: isComing
      ? `The vectors of the embedding index on ${label} are still being computed.`
      : `The embedding index on ${label} no longer exists.`,
    hint: isComing
      ? "Try again when the update is done. See its progress: cli jobs list"
      : "Update the service to the current tables: cli service update <app file> <target>",
    meta: { index: label },
  });
}
