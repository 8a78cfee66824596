import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";

type Aggregate = Extract<Expr, { node: "aggregate" }>;

/**
 * An aggregate as SQL over the SQL of its argument. Nulls do not count; of no values at all `sum`, `min`, `max` and `mean`
 * are null, `count` 0 and `make_list` empty. A sum of Ints is exact and raises class 22 where it does not fit an Int; a
 * mean of Ints is that of the exact sum. Floats are added in the order of the table, and so give the same value each time: an ETag
 * holds as long as the rows do. `order` keeps a list's values in the order of the rows.
 */
export function aggregateSql(aggregate: Aggregate, argument: string | undefined, order: readonly string[]): string {
  const kind = aggregate.args[0]?.type.kind;
  if (aggregate.is_udf) throw new TypeError(`${aggregate.fn} is folded by Python and has no SQL.`);
  if (argument === undefined) return "count(*)";
  switch (aggregate.fn) {
    case "count":
      return kind === "json" ? `count(*) filter (where json_typeof(${argument}) <> 'null')` : `count(${argument})`;
    case "sum":
      return kind === "int" ? `sum(${argument})::int8` : `sum(${inOrder(argument)})`;
    case "mean":
      // The numerator's digits behind the point decide how many the quotient has.
      return kind === "int"
        ? `((sum(${argument}) + 0.000000000000000000000000000000) / nullif(count(${argument}), 0))::float8`
        : `avg(${inOrder(argument)})`;
    case "min":
    case "max":
      return extreme(aggregate.fn, kind, argument);
    case "make_list":
      return makeList(kind, argument, order);
    default:
      throw appError("app_invalid", {
        detail: `A query uses the aggregate ${aggregate.fn}, which is not known here.`,
        hint: "Upgrade the command to the version of the library.",
      });
  }
}

/** The planner sees that it may not be run in parallel, and then takes it out (migration 13 of the catalog). */
function inOrder(argument: string): string {
  return `appdb.in_order(${argument})`;
}

/** PostgreSQL has no smallest Bool and no smallest UUID; a UUID's text has the order of its bytes. */
function extreme(fn: "min" | "max", kind: string | undefined, argument: string): string {
  if (kind === "bool") return `${fn === "min" ? "bool_and" : "bool_or"}(${argument})`;
  if (kind === "uuid") return `${fn}(${argument}::text)::uuid`;
  return `${fn}(${argument})`;
}

function makeList(kind: string | undefined, argument: string, order: readonly string[]): string {
  const by = order.length === 0 ? "" : ` order by ${order.join(", ")}`;
  return `coalesce(json_agg(${asJson(kind, argument)}${by}) filter (where ${argument} is not null), '[]'::json)`;
}

/** A value as JSON that reads back as the same value: a whole Float keeps its point. */
function asJson(kind: string | undefined, sql: string): string {
  switch (kind) {
    case "float":
      return `(CASE WHEN ${sql}::text ~ '^-?[0-9]+$' THEN ${sql}::text || '.0' ELSE ${sql}::text END)::json`;
    case "timestamp": {
      const text = `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`;
      return `(regexp_replace(${text}, '[.]000000$', '') || 'Z')`;
    }
    case "binary":
      return `translate(encode(${sql}, 'base64'), E'\\n', '')`;
    default:
      return sql;
  }
}
