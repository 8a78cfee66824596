import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import { distanceSql, hasVectorSql, isNearestFirst, type Similarity } from "../bound-queries/similarities.ts";
import { FLOAT_TYPE, UUID_TYPE } from "../kinds/kinds.ts";
import type { ParameterList } from "../kinds/parameter-list.ts";
import { type IndexedTexts, writeOrderHint } from "./index-terms.ts";
import type { OrderTerm } from "./order-terms.ts";
import type { Clauses } from "./query-plan.ts";
import type { ExpressionWriter, Relation } from "./relation.ts";

export interface OrderTerms {
  readonly exact: readonly OrderTerm[];
  /** The same order by the operator of a vector index; null when no such order comes first. */
  readonly by_index: readonly OrderTerm[] | null;
}

interface OrderInput {
  readonly order: Clauses["order_by"];
  readonly writer: ExpressionWriter;
  readonly relation: Relation;
  readonly indexed: IndexedTexts;
  readonly similarities: readonly Similarity[];
  readonly parameters: ParameterList;
  /** Types of the relation's identities; default: UUIDs. */
  readonly identities?: readonly ColumnType[] | undefined;
}

/** The order of a statement over a relation. Equal rows come in insertion order. */
export function orderTerms(input: OrderInput): OrderTerms {
  const { order, relation, similarities, parameters } = input;
  const [key] = order;
  const [first, ...others] = plainTerms(input);
  const nearest = key === undefined ? undefined : similarityOf(relation, key.expr, similarities);
  if (key === undefined || first === undefined || nearest === undefined) {
    return { exact: first === undefined ? [] : [first, ...others], by_index: null };
  }
  const asc = isNearestFirst(nearest, key.asc);
  const distance = distanceSql(nearest, parameters);
  // An index supports the operator only as the whole expression.
  const exact = [{ sql: `((${distance}) + 0::float8)`, asc, type: FLOAT_TYPE }, ...others];
  return { exact, by_index: asc ? [{ sql: distance, asc, type: FLOAT_TYPE }, ...others] : null };
}

/** A row without a vector is in no similarity order, and not in the index either. */
export function comparedVectors(
  relation: Relation,
  order: Clauses["order_by"],
  similarities: readonly Similarity[],
): readonly string[] {
  const found = order.flatMap(({ expr }) => similarityOf(relation, expr, similarities) ?? []);
  return [...new Set(found.map(hasVectorSql))];
}

function plainTerms({ order, writer, relation, indexed, identities }: OrderInput): OrderTerm[] {
  const [first] = order;
  const isHinted = first !== undefined && relation.is_tables === true;
  const hint = isHinted ? writeOrderHint(first.expr, indexed, writer) : undefined;
  const terms = order.map(({ expr, asc }) => {
    const sql = writer.write(expr);
    if (sql === undefined) throw new TypeError("A statement has an order without SQL form.");
    // A bare number would mean the position of a selected value.
    return { sql: expr.node === "literal" ? `(${sql})` : sql, asc, type: expr.type };
  });
  const known = new Set(terms.map(({ sql }) => sql));
  const rest = relation.identities.map((sql, at) => ({ sql, asc: true, type: identities?.[at] ?? UUID_TYPE }));
  const hinted = first === undefined || hint === undefined ? [] : [{ ...hint, asc: first.asc, type: first.expr.type }];
  return [...hinted, ...terms, ...rest.filter(({ sql }) => !known.has(sql))];
}

function similarityOf(relation: Relation, expr: Expr, similarities: readonly Similarity[]): Similarity | undefined {
  if (relation.is_tables !== true || expr.node !== "column") return undefined;
  return similarities.find(({ name }) => name === expr.name);
}
