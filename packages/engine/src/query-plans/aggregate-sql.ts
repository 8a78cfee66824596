import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import { kindOf } from "../kinds/kinds.ts";

type Aggregate = Extract<Expr, { node: "aggregate" | "window" }>;

/** The rows of an aggregate: `over` is the OVER clause of a window, `order` sorts the rows of a group. */
export type AggregatedRows = { readonly over: string } | { readonly order: readonly string[] };

/**
 * An aggregate as SQL over the SQL of its argument. Nulls are skipped. Without values, `sum`, `min`, `max` and `mean`
 * are null, `count` is 0 and `make_list` is empty. A sum of Ints is exact and raises class 22 on overflow; a mean of
 * Ints uses the exact sum. Floats are added in table order and so deterministically: an ETag stays valid while rows do
 * not change. Only a list depends on the order of a group.
 */
export function aggregateSql(aggregate: Aggregate, argument: string | undefined, rows: AggregatedRows): string {
  if (aggregate.is_udf) throw new TypeError(`Python computes ${aggregate.fn}, which has no SQL.`);
  const [of] = aggregate.args;
  const over = "over" in rows ? ` ${rows.over}` : "";
  if (argument === undefined || of === undefined) return `count(*)${over}`;
  const { aggregates } = kindOf(of.type);
  switch (aggregate.fn) {
    case "count":
    case "sum":
    case "mean":
    case "min":
    case "max":
      return aggregates[aggregate.fn](argument, over);
    case "make_list":
      return makeList(aggregates.listed(argument), argument, "order" in rows ? rows.order : []);
    default:
      throw appError("app_invalid", {
        detail: `A query uses the unknown aggregate ${aggregate.fn}.`,
        hint: "Upgrade the command to the version of the library.",
      });
  }
}

function makeList(listed: string, argument: string, order: readonly string[]): string {
  const by = order.length === 0 ? "" : ` order by ${order.join(", ")}`;
  return `coalesce(json_agg(${listed}${by}) filter (where ${argument} is not null), '[]'::json)`;
}
