import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import { kindOf } from "../kinds/kinds.ts";

type Aggregate = Extract<Expr, { node: "aggregate" }>;

/**
 * An aggregate as SQL over the SQL of its argument. Nulls do not count; of no values at all `sum`, `min`, `max` and `mean`
 * are null, `count` 0 and `make_list` empty. A sum of Ints is exact and raises class 22 where it does not fit an Int; a
 * mean of Ints is that of the exact sum. Floats are added in the order of the table, and so give the same value each time: an ETag
 * holds as long as the rows do. `order` keeps a list's values in the order of the rows.
 */
export function aggregateSql(aggregate: Aggregate, argument: string | undefined, order: readonly string[]): string {
  if (aggregate.is_udf) throw new TypeError(`${aggregate.fn} is folded by Python and has no SQL.`);
  const [of] = aggregate.args;
  if (argument === undefined || of === undefined) return "count(*)";
  const { aggregates } = kindOf(of.type);
  switch (aggregate.fn) {
    case "count":
    case "sum":
    case "mean":
    case "min":
    case "max":
      return aggregates[aggregate.fn](argument);
    case "make_list":
      return makeList(aggregates.listed(argument), argument, order);
    default:
      throw appError("app_invalid", {
        detail: `A query uses the aggregate ${aggregate.fn}, which is not known here.`,
        hint: "Upgrade the command to the version of the library.",
      });
  }
}

function makeList(listed: string, argument: string, order: readonly string[]): string {
  const by = order.length === 0 ? "" : ` order by ${order.join(", ")}`;
  return `coalesce(json_agg(${listed}${by}) filter (where ${argument} is not null), '[]'::json)`;
}
