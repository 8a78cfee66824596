import type { Expr } from "@appdb/contract/expressions";
import type { PlanOp } from "@appdb/contract/plan";
import { changedQueries } from "../bound-queries/column-queries.ts";
import type { CatalogTable } from "../catalog/catalog.ts";
import { isSameExpr, isSameJson } from "../catalog/compare.ts";
import { guardOf } from "../catalog/guards.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { madeRowsIn } from "../expressions/made-rows.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { LoweredManifest } from "../views/lower-views.ts";
import { tableLine } from "./plan-views.ts";
import type { Owner } from "./view-columns.ts";

/** Why an update computes the rows of a view again. */

type Alter = Extract<SchemaOperation, { kind: "alter_column" }>;

/** The reasons for which a column that says or makes the rows of a view is computed again. */
export function reasonOfRows({ column, to, changes }: Alter): string {
  if (changes.includes("stale")) return "some of them come from its previous definition";
  const [before, now] = [column.computed, to.computed];
  if (!changes.includes("value") || before === null || now === null) return "the code of its functions has changed";
  const [was, is] = [guardOf(before.expr), guardOf(now.expr)];
  const isOther =
    was.member === null || is.member === null ? was.member !== is.member : !isSameExpr(was.member, is.member);
  const ofRows = rowsDiffer(was.value, is.value, { before: before.text, now: now.text });
  const queries = changedQueries(before, now).map((name) => `the query ${name} that it uses changes`);
  const reasons = [...(isOther ? ["the rows of its base that it has are others"] : []), ...ofRows, ...queries];
  return reasons.length === 0 ? "its definition changes" : reasons.join(", and ");
}

function rowsDiffer(before: Expr, now: Expr, texts: { readonly before: string; readonly now: string }): string[] {
  const [was, is] = [madeRowsIn(before), madeRowsIn(now)];
  if (was === undefined || is === undefined) {
    if (isSameExpr(before, now)) return [];
    return [
      texts.before === texts.now ? "its condition changes" : `its condition is ${texts.now} instead of ${texts.before}`,
    ];
  }
  const overBase = (rows: typeof was) => rows.computed.filter((one) => !one.is_own);
  const read = overBase(is).filter(({ name, expr }) => {
    const same = overBase(was).find((one) => one.name === name);
    return same === undefined || !isSameExpr(same.expr, expr);
  });
  return [
    ...(isSameExpr(was.call, is.call) ? [] : ["its iterator or a parameter of it changes"]),
    ...(isSameJson(was.outputs, is.outputs) ? [] : ["its iterator gives other columns"]),
    ...(read.length === 0
      ? []
      : [`${listOf(read.map(({ name }) => name))} read${read.length === 1 ? "s" : ""} its base`]),
  ];
}

function listOf(names: readonly string[]): string {
  return `column${names.length === 1 ? "" : "s"} ${names.map((name) => `'${name}'`).join(", ")}`;
}

/** A table whose values an update changes. */
export interface ChangedTable {
  readonly after: CatalogTable;
  /** Its computed columns with other values. */
  readonly changed: ReadonlySet<string>;
  readonly owners: ReadonlyMap<string, Owner>;
}

/**
 * The lines of views that have no change of their own, and other rows or values because of what they read. By the names
 * of the views.
 */
export function followingViews(
  tables: readonly ChangedTable[],
  { tables: declared, views }: LoweredManifest,
): ReadonlyMap<string, PlanOp> {
  const found = new Map<string, PlanOp>();
  const add = (view: string, description: string): void => {
    if (!found.has(view)) found.set(view, tableLine(view, "additive", description));
  };
  const remade = new Set<string>();
  for (const { after, changed, owners } of tables) {
    const nameOf = (column: string): string => {
      const owner = owners.get(column);
      return owner === undefined ? `column '${column}' of '${after.name}'` : describeOwner(owner);
    };
    const source = (expr: Expr | null): string | undefined =>
      expr === null ? undefined : referencedColumns(expr).find((read) => changed.has(read));
    for (const { name, table, definition } of views) {
      const read = table === after.name ? source(definition.member) : undefined;
      if (read !== undefined) add(name, `its rows will be others, because ${nameOf(read)} changes`);
    }
    // What a view shows first: its rows.
    const columns = after.columns.toSorted((a, b) => Number(isOfColumn(owners, a)) - Number(isOfColumn(owners, b)));
    for (const { name, computed } of columns) {
      const owner = owners.get(name);
      const read = source(computed?.expr ?? null);
      if (!changed.has(name) || owner === undefined || read === undefined) continue;
      const what =
        owner.name === null ? "its rows will be computed again" : `column '${owner.name}' will be recomputed`;
      add(owner.view, `${what}, because ${nameOf(read)} changes`);
    }
    for (const { name, rows_of: made } of declared) {
      if (made?.table === after.name && changed.has(made.column)) remade.add(name);
    }
  }
  // Grows while it is visited.
  for (const base of remade) {
    const description = `its rows will be made again with those of '${base}'`;
    for (const { name, rows_of: made } of declared) {
      if (made?.table !== base) continue;
      remade.add(name);
      add(name, description);
    }
    for (const { name, table } of views) if (table === base) add(name, description);
  }
  return found;
}

function isOfColumn(owners: ChangedTable["owners"], { name }: Pick<CatalogTable["columns"][number], "name">): boolean {
  return owners.get(name)?.name !== null;
}

function describeOwner({ view, name }: Owner): string {
  return name === null ? `the rows of '${view}'` : `column '${name}' of '${view}'`;
}
