import type { Expr } from "@appdb/contract/expressions";
import { castToStorage } from "../kinds/storage-type.ts";
import { quoteIdent } from "../sql/quote.ts";
import { aggregateSql } from "./aggregate-sql.ts";
import type { Window, windowNames } from "./groups.ts";
import type { ExpressionWriter, Relation } from "./relation.ts";

/** The rows of a relation with the values of its windows. Conditions, order and limit outside do not change these.
 *  `read`: the flat names that are read of it, those of the windows among them. */
export function windowed(
  relation: Relation,
  { values: windows }: ReturnType<typeof windowNames>,
  read: readonly string[],
  writer: ExpressionWriter,
): Relation {
  const own = new Set(windows.map(({ name }) => name));
  const names = read.filter((name) => !own.has(name));
  const ref = (kind: string, at: number) => `windowed.${quoteIdent(`${kind}${at}`)}`;
  const columnRefs = new Map([
    ...names.map((name, at): [string, string] => [name, ref("c", at)]),
    ...windows.map(({ name }, at): [string, string] => [name, ref("w", at)]),
  ]);
  const values = [
    ...names.map((name, at) => `${relation.column(name)} as ${quoteIdent(`c${at}`)}`),
    ...relation.identities.map((sql, at) => `${sql} as ${quoteIdent(`i${at}`)}`),
    ...windows.map(({ expr }, at) => `${windowSql(expr, relation, writer)} as ${quoteIdent(`w${at}`)}`),
  ];
  const where = relation.where.length === 0 ? [] : [`where ${relation.where.join("\n  and ")}`];
  return {
    from: `${[`(select ${values.join(", ")} from ${relation.from}`, ...where].join("\n")}) as windowed`,
    where: [],
    identities: relation.identities.map((_sql, at) => ref("i", at)),
    column: (name) => columnRefs.get(name),
  };
}

/** A window of ours. Equal rows count in insertion order, one after the other. */
export function windowSql(window: Window, relation: Relation, writer: ExpressionWriter): string {
  const [argument] = window.args;
  const group = storedSql(window.group_by, writer);
  const order = [...storedSql(window.order_by, writer), ...relation.identities];
  const parts = [
    ...(group.length === 0 ? [] : [`partition by ${group.join(", ")}`]),
    ...(order.length === 0 ? [] : [`order by ${order.join(", ")}`]),
    "rows between unbounded preceding and current row",
  ];
  const sql = argument === undefined ? undefined : needed(writer, argument);
  return aggregateSql(window, sql, { over: `over (${parts.join(" ")})` });
}

/** The number of a row's group, and that of the row among all, which are sorted group by group. */
export function rowNumbers(window: Window, relation: Relation, writer: ExpressionWriter): readonly [string, string] {
  const group = storedSql(window.group_by, writer);
  const order = [...group, ...storedSql(window.order_by, writer), ...relation.identities].join(", ");
  return [
    group.length === 0 ? "1" : `dense_rank() over (order by ${group.join(", ")})`,
    `row_number() over (order by ${order})`,
  ];
}

/** Values in the stored form of their types. */
export function storedSql(exprs: readonly Expr[], writer: ExpressionWriter): string[] {
  return exprs.map((expr) => castToStorage(needed(writer, expr), expr.type));
}

/** SQL of a value of a group or of its rows; the planner has checked that it exists. */
export function needed(writer: ExpressionWriter, expr: Expr): string {
  const sql = writer.write(expr);
  if (sql === undefined) throw new TypeError("A statement has a group value without SQL form.");
  return sql;
}
