import { castToStorage } from "../kinds/storage-type.ts";
import { quoteIdent } from "../sql/quote.ts";
import { aggregateSql } from "./aggregate-sql.ts";
import type { GroupNames } from "./groups.ts";
import type { ExpressionWriter, Relation } from "./relation.ts";
import { needed, storedSql } from "./window-sql.ts";

/** One row for each group of the rows of a relation, with its keys and the aggregates of ours. */
export function groupRows(relation: Relation, grouped: GroupNames, writer: ExpressionWriter): Relation {
  const columnRefs = new Map(grouped.values.map(({ name }, at) => [name, `grouped.${quoteIdent(`g${at}`)}`]));
  const values = grouped.values.map(({ expr }, at) => {
    if (expr.node !== "aggregate")
      return `${castToStorage(needed(writer, expr), expr.type)} as ${quoteIdent(`g${at}`)}`;
    const [argument] = expr.args;
    const order = [...storedSql(expr.order_by ?? [], writer), ...relation.identities];
    const sql = argument === undefined ? undefined : needed(writer, argument);
    return `${aggregateSql(expr, sql, { order })} as ${quoteIdent(`g${at}`)}`;
  });
  const keys = grouped.values.slice(0, grouped.keys).map((_value, at) => String(at + 1));
  const lines = [
    `(select ${values.join(", ") || "1"} from ${relation.from}`,
    ...(relation.where.length === 0 ? [] : [`where ${relation.where.join("\n  and ")}`]),
    ...(keys.length === 0 ? [] : [`group by ${keys.join(", ")}`]),
  ];
  return {
    from: `${lines.join("\n")}) as grouped`,
    where: [],
    identities: grouped.values.slice(0, grouped.keys).map(({ name }) => columnRefs.get(name) ?? ""),
    column: (name) => columnRefs.get(name),
  };
}
