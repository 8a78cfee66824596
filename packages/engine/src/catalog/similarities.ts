import { appError } from "@appdb/contract/errors";
import type { Expr, VectorMetric } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { mapParts } from "../expressions/tree.ts";
import type { ParameterList } from "../kinds/parameter-list.ts";
import { quoteIdent } from "../sql/quote.ts";
import type { BoundTable } from "./bind-query.ts";
import type { CatalogIndex } from "./catalog.ts";
import { vectorOf } from "./ddl.ts";

/** A `similarity` node of a query. In the query's expressions a column of the flat name `name` stands for it. */
export interface AskedSimilarity {
  readonly name: string;
  readonly alias: string;
  readonly column: string;
  readonly index: string | null;
  readonly metric: VectorMetric;
  /** Flat: of parameters and constants alone. */
  readonly value: Expr;
}

/** The same with the index whose vectors are compared, as it is now. */
export interface Similarity extends AskedSimilarity {
  /** Null while there is none that could be asked: `lacks` says so to whoever does. */
  readonly over: CatalogIndex | null;
  readonly lacks: Error | null;
  /** What makes the vector of `value`; its type is an array, or Json for a list that a request brings. */
  readonly vector: Expr;
  readonly dimensions: number;
  /** How people call the index. */
  readonly label: string;
}

/** What pgvector computes, and what people are told: 1 for the same direction, the inner product, the distance. */
const METRICS = {
  cosine: { operator: "<=>", value: (distance: string) => `nullif(1 - (${distance}), 'NaN')` },
  ip: { operator: "<#>", value: (distance: string) => `(- (${distance}))` },
  l2: { operator: "<->", value: (distance: string) => `(${distance})` },
} as const satisfies Record<VectorMetric, { operator: string; value: (distance: string) => string }>;

/** Finds the index that a similarity asks. While a changed one is built its predecessor answers, by its own function. */
export function resolveSimilarity(asked: AskedSimilarity, tables: readonly BoundTable[]): Similarity {
  const table = tables.find(({ alias }) => alias === asked.alias)?.table;
  const label = `${table?.name}.${asked.column}${asked.index === null ? "" : ` ('${asked.index}')`}`;
  const found = (table?.indexes ?? []).filter(
    ({ kind, name, columns }) => kind === "embedding" && name === asked.index && columns[0] === asked.column,
  );
  const usable = found.filter(({ vectors }) => vectors == null || vectors.state === "ready");
  const worth = (index: CatalogIndex): number =>
    (index.embedding?.metric === asked.metric ? 2 : 0) + (index.state === "ready" ? 1 : 0);
  const [over] = usable.sort((a, b) => worth(b) - worth(a) || b.id - a.id);
  if (over?.embedding == null) {
    return {
      ...asked,
      over: null,
      lacks: notThere(label, found.length > 0),
      vector: asked.value,
      dimensions: 0,
      label,
    };
  }
  const { dimensions } = over.embedding;
  return { ...asked, over, lacks: null, vector: vectorExpr(asked, over), dimensions, label };
}

/** SQL of the distance from a row's vector to the one that is asked for. */
export function distanceSql(of: Similarity, parameters: ParameterList): string {
  if (of.over === null) return "null::float8";
  const { operator } = METRICS[of.metric];
  const { precision = "fp16" } = of.over.embedding ?? {};
  const asked = parameters.vector(of.name, precision, of.dimensions);
  return `${rowVector(of)} operator(appdb.${operator}) ${asked}`;
}

/** SQL of the number that people see. Null for a row without a vector, and where there is no direction to compare. */
export function similaritySql(of: Similarity, parameters: ParameterList): string {
  return METRICS[of.metric].value(distanceSql(of, parameters));
}

/** SQL of whether a row has a vector. */
export function hasVectorSql({ over, alias }: Similarity): string {
  if (over === null) return "false";
  return `${quoteIdent(alias)}.${quoteIdent(over.embedding?.values ?? over.columns[0] ?? "")} is not null`;
}

/** SQL of a row's vector, as its index has it. */
function rowVector({ over, alias }: Similarity): string {
  if (over === null) return "null";
  const sql = vectorOf(over, `${quoteIdent(alias)}.`);
  return over.embedding?.values == null ? `(${sql})` : sql;
}

/** Whether an order has the nearest rows first: a distance is small where a likeness is great. */
export function isNearestFirst({ metric }: AskedSimilarity, asc: boolean): boolean {
  return metric === "l2" ? asc : !asc;
}

/** The index's own function over what is asked for, in the place of its column; a vector is one already. */
function vectorExpr({ value }: AskedSimilarity, { columns, vectors }: CatalogIndex): Expr {
  const [column] = columns;
  const isVector =
    value.type.dtype !== undefined || vectors == null || kindOf(vectors.expr, column) !== value.type.kind;
  return isVector ? value : withValue(vectors.expr, column, value);
}

function kindOf(expr: Expr, column: string | undefined): ColumnType["kind"] | undefined {
  let kind: ColumnType["kind"] | undefined;
  const look = (node: Expr): Expr => {
    if (node.node === "column" && node.name === column) kind = node.type.kind;
    return mapParts(node, look);
  };
  look(expr);
  return kind;
}

function withValue(expr: Expr, column: string | undefined, value: Expr): Expr {
  if (expr.node === "column" && expr.name === column) return value;
  return mapParts(expr, (part) => withValue(part, column, value));
}

function notThere(label: string, isComing: boolean): Error {
  return appError("schema_changed", {
    detail: isComing
      ? `The vectors of the embedding index on ${label} are still being computed.`
      : `There is no embedding index on ${label} any more.`,
    hint: isComing
      ? "Ask again when the update is done: cli jobs list shows how far it is."
      : "Move the service to the tables as they are now: cli service update <app file> <target>",
    meta: { index: label },
  });
}
